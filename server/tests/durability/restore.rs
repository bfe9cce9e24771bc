//! Power losses around `parlour backup` and `parlour restore`.

use crate::{
    power_loss::Conversation,
    server::{Server, run},
    unsynced::{Behaviour, Disk, Survivors},
};

/// A finished backup survives; a restore that was cut off anywhere leaves the old state or the restored one.
#[tokio::test]
async fn backups_and_restores_survive_power_losses() {
    let disk = Disk::new();
    let copy = disk.root().join("copy.db");
    let copy = copy.to_str().expect("UTF-8 path");
    let mut server = Server::start(&disk, Behaviour::Honest).await;
    let mut conversation = Conversation::begin(&server, 1).await;
    conversation.talk_until_killed(&mut server, Some(40)).await;
    let server = Server::start(&disk, Behaviour::Honest).await;
    let (first_epoch, backed_up) = conversation.stored(&server).await;
    drop(server);
    assert!(run(&disk, &["backup", copy], Behaviour::Honest).success());
    disk.lose_power(Survivors::None);

    let mut server = Server::start(&disk, Behaviour::Honest).await;
    conversation.talk_until_killed(&mut server, Some(40)).await;
    let server = Server::start(&disk, Behaviour::Honest).await;
    let (_, later) = conversation.stored(&server).await;
    drop(server);
    assert_ne!(backed_up, later);

    let mut change = 1;
    loop {
        let finished = run(&disk, &["restore", copy], Behaviour::PowerLossAt(change)).success();
        disk.lose_power(if change % 2 == 0 { Survivors::None } else { Survivors::Half { seed: change } });
        let server = Server::start(&disk, Behaviour::Honest).await;
        let (epoch, found) = conversation.stored(&server).await;
        let is_restored = found == backed_up && epoch != first_epoch;
        if finished {
            assert!(is_restored, "restored, and yet: {epoch}, {found:?}");
            break;
        }
        assert!(
            is_restored || found == later,
            "cut off at change {change}: neither the old state nor the new: {found:?}"
        );
        change += 1 + change / 8;
    }
    println!("a restore makes up to {change} changes");
    assert!(change > 10, "the restore was never cut off");
}
