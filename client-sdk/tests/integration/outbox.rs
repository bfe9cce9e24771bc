use std::time::Duration;

use parlour_client::{
    Patience, RequestErrorKind,
    test_util::{FakeServer, Fault},
};
use parlour_protocol::{ErrorCode, ProtocolError, UserId};

use crate::harness::{numbers, scene, scene_on, scene_with};

fn unavailable() -> ProtocolError {
    ProtocolError::new(ErrorCode::Unavailable, "the store is away")
}

#[tokio::test(start_paused = true)]
async fn a_send_whose_reply_is_lost_is_stored_and_seen_once() {
    for fault in [
        Fault::CutAfter,
        Fault::CutBefore,
        Fault::LoseReply,
        Fault::LoseCommand,
        Fault::FailAfter(unavailable()),
        Fault::Refuse(unavailable()),
    ] {
        let mut scene = scene().await;
        scene.server.script("message.send", fault.clone());
        let sent = scene.room.send("once").deadline(Duration::from_secs(120)).await.unwrap();
        assert_eq!(scene.created(1).await, ["once"], "{fault:?}");
        scene.server.post(scene.room_id, "end");
        assert_eq!(scene.created(1).await, ["end"], "{fault:?}");
        assert_eq!(scene.truth(), ["once", "end"], "{fault:?}");
        assert_eq!(scene.texts().await, ["once", "end"], "{fault:?}");
        let timeline = scene.room.timeline().await.unwrap();
        assert_eq!((timeline.messages[0].row_key, timeline.pending), (sent.row_key, vec![]), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn pipelined_sends_stay_in_order_through_every_kind_of_failure() {
    let mut scene = scene().await;
    for fault in [
        Fault::Refuse(unavailable()),
        Fault::FailAfter(unavailable()),
        Fault::CutAfter,
        Fault::Refuse(ProtocolError::new(ErrorCode::RateLimited, "").retry_after(2000)),
        Fault::CutBefore,
    ] {
        scene.server.script("message.send", fault);
    }
    let mut queued = Vec::new();
    for text in numbers(0..100) {
        queued.push(scene.room.send(text).queue().await.unwrap());
    }
    for send in queued {
        send.await.unwrap();
    }
    assert_eq!(scene.created(100).await, numbers(0..100));
    assert_eq!(scene.truth(), numbers(0..100));
    assert_eq!(scene.texts().await, numbers(0..100));
}

#[tokio::test(start_paused = true)]
async fn many_sends_are_under_way_at_once() {
    let scene = scene().await;
    let mut queued = Vec::new();
    for text in numbers(0..32) {
        queued.push(scene.room.send(text).queue().await.unwrap());
    }
    let began = tokio::time::Instant::now();
    for send in queued {
        send.await.unwrap();
    }
    assert!(began.elapsed() < Duration::from_millis(50), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn slowmode_is_told_or_waited_for_as_the_caller_chose() {
    let scene = scene().await;
    let slow = || Fault::Refuse(ProtocolError::new(ErrorCode::Slowmode, "").retry_after(4000));
    scene.server.script("message.send", slow());
    let error = scene.room.send("told").patience(Patience::Tell).await.unwrap_err();
    assert_eq!(error.kind(), RequestErrorKind::Rejected(ErrorCode::Slowmode));
    assert_eq!(error.rejection().unwrap().retry_after_ms, Some(4000));
    scene.server.script("message.send", slow());
    let began = tokio::time::Instant::now();
    scene.room.send("waited").await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(4));
    assert_eq!(scene.truth(), ["waited"]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_and_those_behind_it_go_on() {
    let mut scene = scene().await;
    let refusal = ProtocolError::new(ErrorCode::WordFiltered, "");
    scene.server.script("message.send", Fault::Refuse(refusal));
    let refused = scene.room.send("bad").queue().await.unwrap();
    let sent = scene.room.send("good").queue().await.unwrap();
    assert_eq!(refused.await.unwrap_err().kind(), RequestErrorKind::Rejected(ErrorCode::WordFiltered));
    sent.await.unwrap();
    assert_eq!(scene.created(1).await, ["good"]);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_passes_leaves_the_message_in_the_outbox() {
    let mut scene = scene().await;
    scene.server.refuse_dials(8);
    scene.server.cut();
    let error = scene.room.send("later").deadline(Duration::from_millis(10)).await.unwrap_err();
    assert_eq!(error.kind(), RequestErrorKind::DeadlinePassed);
    assert_eq!(scene.created(1).await, ["later"]);
}

#[tokio::test(start_paused = true)]
async fn bl_042_an_own_message_takes_the_servers_place_and_is_shown_once_at_every_moment() {
    let mut scene = scene().await;
    scene.server.post(scene.room_id, "before");
    let queued = scene.room.send("mine").queue().await.unwrap();
    let shown = scene.room.timeline().await.unwrap();
    assert_eq!(shown.pending.len(), 1, "it is shown before the server has it");
    scene.server.post(scene.room_id, "between");
    let stored = queued.await.unwrap().message;
    let shown = scene.room.timeline().await.unwrap();
    let mine: Vec<_> = shown.messages.iter().filter(|message| message.message == "mine").collect();
    assert_eq!((mine.len(), shown.pending.len(), mine[0].seq), (1, 0, stored.seq));
    scene.created(3).await;
    assert_eq!(scene.texts().await, scene.truth());
}

#[tokio::test(start_paused = true)]
async fn a_full_outbox_refuses_instead_of_growing() {
    let scene = scene_with(|builder| builder.outbox_capacity(2)).await;
    scene.server.refuse_dials(1000);
    scene.server.cut();
    scene.room.send("1").queue().await.unwrap();
    scene.room.send("2").queue().await.unwrap();
    assert_eq!(scene.room.send("3").queue().await.unwrap_err().kind(), RequestErrorKind::OutboxFull);
}

#[tokio::test(start_paused = true)]
async fn what_was_never_sent_can_be_taken_back() {
    let scene = scene().await;
    scene.server.refuse_dials(4);
    scene.server.cut();
    let mut events = scene.client.events();
    while !matches!(events.next().await.unwrap(), parlour_client::ClientEvent::Disconnected { .. }) {}
    let queued = scene.room.send("oops").queue().await.unwrap();
    assert!(scene.client.withdraw(queued.nonce().clone()).await.unwrap());
    assert_eq!(queued.await.unwrap_err().kind(), RequestErrorKind::Invalid);
    assert!(scene.client.pending().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_sends_stays_below_the_servers_limit_of_frames() {
    let scene = scene_with(|builder| builder.outbox_capacity(5000)).await;
    let mut queued = Vec::new();
    for text in numbers(0..3000) {
        queued.push(scene.room.send(text).deadline(Duration::from_secs(600)).queue().await.unwrap());
    }
    for send in queued {
        send.await.unwrap();
    }
    let sends = scene.server.received_of("message.send");
    for pair in sends.windows(1000) {
        let span = pair[999].at - pair[0].at;
        assert!(span >= Duration::from_secs(1), "1000 frames in {span:?}");
    }
    assert_eq!(scene.truth(), numbers(0..3000));
}

#[tokio::test(start_paused = true)]
async fn an_outbox_file_survives_a_restart_and_each_message_arrives_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outbox");
    let server = FakeServer::new();
    let room_id = server.create_room();
    let scene = scene_on(server.clone(), room_id, |builder| builder.outbox_file(&path)).await;
    scene.room.send("0").await.unwrap();
    // Stored, but the answer never comes; then the program dies.
    server.script("message.send", Fault::LoseReply);
    scene.room.send("1").queue().await.unwrap();
    scene.room.send("2").queue().await.unwrap();
    server.refuse_dials(1000);
    server.cut();
    scene.room.send("3").queue().await.unwrap();
    assert!(scene.client.close_within(Duration::ZERO).await >= 2);
    drop(scene);

    server.refuse_dials(0);
    let mut scene = scene_on(server, room_id, |builder| builder.outbox_file(&path)).await;
    while !scene.client.pending().await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    scene.room.send("4").await.unwrap();
    assert_eq!(scene.truth(), numbers(0..5));
    scene
        .next(|event| match event {
            parlour_client::RoomEvent::Created { message, .. } => (message.message == "4").then_some(()),
            _ => None,
        })
        .await;
    assert_eq!(scene.client.close().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_outbox_file_of_another_account_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outbox");
    let server = FakeServer::new();
    let client = server.client().outbox_file(&path).connect().await.unwrap();
    let in_use = server.client().outbox_file(&path).connect().await.unwrap_err();
    assert_eq!(in_use.kind(), parlour_client::ConnectErrorKind::Outbox);
    client.close().await;
    server.add_token("another", UserId::new());
    let error = server.client().token("another").outbox_file(&path).connect().await.unwrap_err();
    assert_eq!(error.kind(), parlour_client::ConnectErrorKind::Outbox);
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_the_outbox() {
    let scene = scene().await;
    for text in numbers(0..50) {
        scene.room.send(text).queue().await.unwrap();
    }
    assert_eq!(scene.client.close().await, 0);
    assert_eq!(scene.truth(), numbers(0..50));
}

#[tokio::test(start_paused = true)]
async fn closing_gives_up_at_its_deadline_and_says_what_remains() {
    let scene = scene().await;
    scene.server.set_silent(true);
    scene.room.send("stuck").queue().await.unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(scene.client.close_within(Duration::from_secs(3)).await, 1);
    assert!(began.elapsed() <= Duration::from_secs(5));
}
