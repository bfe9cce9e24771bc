//! Proof that an acknowledged change is on disk: the real binary on a disk that loses power,
//! and the order of its system calls.

mod power_loss;
mod restore;
mod server;
mod trace;
mod unsynced;

use power_loss::Conversation;
use server::Server;
use unsynced::{Behaviour, Disk, Survivors, next_random};

const ROUNDS: u64 = 10;

#[tokio::test]
async fn everything_acknowledged_survives_power_losses() {
    let disk = Disk::new();
    let mut random = 20_261_130;
    let mut server = Server::start(&disk, Behaviour::Honest).await;
    let mut conversation = Conversation::begin(&server, random).await;
    for round in 0..ROUNDS {
        // By turns between two answers and between two changes of the disk, inside a commit or a checkpoint.
        let (behaviour, answers) = if round % 2 == 0 {
            (Behaviour::Honest, Some(1 + next_random(&mut random) % 300))
        } else {
            (Behaviour::PowerLossAt(300 + next_random(&mut random) % 1500), None)
        };
        server.kill();
        server = Server::start(&disk, behaviour).await;
        let answered = conversation.talk_until_killed(&mut server, answers).await;
        let survivors = if round % 3 == 0 { Survivors::None } else { Survivors::Half { seed: round } };
        let lost = disk.lose_power(survivors);
        println!("round {round}: {answered} answers, {lost} unsynced changes lost");

        server = Server::start(&disk, Behaviour::Honest).await;
        assert_eq!(conversation.missing(&server).await, 0, "round {round}: acknowledged and not there");
    }
}

/// The counter-proof: where a sync does nothing, the same audit finds what is missing.
#[tokio::test]
async fn a_disk_that_lies_about_syncs_is_found_out() {
    let disk = Disk::new();
    let mut server = Server::start(&disk, Behaviour::Honest).await;
    let mut conversation = Conversation::begin(&server, 1).await;
    server.kill();

    let mut server = Server::start(&disk, Behaviour::Lying).await;
    conversation.talk_until_killed(&mut server, Some(100)).await;
    disk.lose_power(Survivors::None);

    let server = Server::start(&disk, Behaviour::Honest).await;
    assert!(conversation.missing(&server).await > 50, "nothing went missing without syncs");
}

#[tokio::test]
async fn a_power_loss_at_any_point_of_the_first_start_does_no_harm() {
    let disk = Disk::new();
    let mut change = 1;
    while !Server::start_until_power_loss(&disk, change).await {
        disk.lose_power(if change % 2 == 0 { Survivors::None } else { Survivors::Half { seed: change } });
        change += 1 + change / 4;
    }
    assert!(change > 20, "the start was hardly ever cut off");
    let server = Server::start(&disk, Behaviour::Honest).await;
    let mut conversation = Conversation::begin(&server, 1).await;
    assert_eq!(conversation.missing(&server).await, 0);
}
