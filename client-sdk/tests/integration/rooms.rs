use std::time::Duration;

use parlour_client::{
    Ending, RequestErrorKind, RoomEvent,
    test_util::{EventFault, Fault},
};
use parlour_protocol::{ErrorCode, ProtocolError, event::UnsubscribeReason, operation::Verdict};

use crate::harness::{numbers, scene, scene_on, scene_with};

#[tokio::test(start_paused = true)]
async fn dropped_doubled_and_swapped_events_are_repaired() {
    let mut scene = scene().await;
    scene.server.script_events([
        EventFault::Pass,
        EventFault::Drop,
        EventFault::Pass,
        EventFault::Duplicate,
        EventFault::Swap,
        EventFault::Pass,
        EventFault::Drop,
    ]);
    for text in numbers(0..20) {
        scene.server.post(scene.room_id, &text);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    assert_eq!(scene.created(20).await, numbers(0..20));
    assert_eq!(scene.texts().await, scene.truth());
}

#[tokio::test(start_paused = true)]
async fn a_lost_last_event_is_found_by_the_second_ping() {
    let mut scene = scene().await;
    scene.server.script_events([EventFault::Drop]);
    scene.server.post(scene.room_id, "lost");
    let began = tokio::time::Instant::now();
    assert_eq!(scene.created(1).await, ["lost"]);
    assert!(began.elapsed() <= Duration::from_secs(31));
}

#[tokio::test(start_paused = true)]
async fn bl_015_a_flood_of_edits_hides_no_message() {
    let mut scene = scene().await;
    let first = scene.server.post(scene.room_id, "draft");
    scene.created(1).await;
    scene.server.refuse_dials(3);
    scene.server.cut();
    for number in 0..300 {
        scene.server.change(scene.room_id, |room| room.edit(first, &number.to_string()));
        if number == 150 {
            scene.server.post(scene.room_id, "the post");
        }
    }
    assert_eq!(scene.created(1).await, ["the post"]);
    scene.caught_up().await;
    assert_eq!(scene.texts().await, ["299", "the post"]);
}

#[tokio::test(start_paused = true)]
async fn bl_016_too_much_to_catch_up_is_a_reset_and_the_newest_page() {
    let mut scene = scene().await;
    scene.server.post(scene.room_id, "old");
    scene.created(1).await;
    scene.server.refuse_dials(3);
    scene.server.cut();
    tokio::time::sleep(Duration::from_millis(100)).await;
    for text in numbers(0..5000) {
        scene.server.post(scene.room_id, &text);
    }
    scene.next(|event| matches!(event, RoomEvent::Reset).then_some(())).await;
    scene.loaded().await;
    assert_eq!(scene.texts().await, numbers(4950..5000));
    let reads = scene.server.received().iter().filter(|command| command.op == "message.list").count();
    assert!(reads <= 3, "{reads} reads");
    assert_eq!(scene.room.load_older(50).await.unwrap(), 50);
    assert_eq!(scene.texts().await, numbers(4900..5000));
}

#[tokio::test(start_paused = true)]
async fn bl_018_catching_up_twice_at_once_and_again_changes_nothing() {
    let mut scene = scene().await;
    for text in numbers(0..3) {
        scene.server.post(scene.room_id, &text);
    }
    scene.created(3).await;
    let frames = scene.server.received_of("room.subscribe").len();
    let (first, second) = tokio::join!(scene.room.catch_up(), scene.room.catch_up());
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(scene.server.received_of("room.subscribe").len(), frames + 1, "one network walk");
    scene.room.catch_up().await.unwrap();
    assert_eq!(scene.texts().await, numbers(0..3));
}

#[tokio::test(start_paused = true)]
async fn bl_024_unsubscribed_clears_the_room_and_the_next_subscribe_works_the_first_time() {
    let mut scene = scene().await;
    scene.server.post(scene.room_id, "before");
    scene.created(1).await;
    scene.server.end(scene.room_id, UnsubscribeReason::Kicked);
    let ending = scene.next(|event| match event {
        RoomEvent::Ended(ending) => Some(ending),
        _ => None,
    });
    assert!(matches!(ending.await, Ending::Lost(UnsubscribeReason::Kicked)));
    assert_eq!(scene.room.timeline().await.unwrap_err().kind(), RequestErrorKind::NotSubscribed);
    let subscribed = scene.room.subscribe().await.unwrap();
    assert_eq!(subscribed.verdict, Verdict::Live);
    scene.server.post(scene.room_id, "after");
    assert_eq!(scene.created(1).await, ["after"]);
}

#[tokio::test(start_paused = true)]
async fn a_room_without_access_is_refused_and_one_that_fails_for_now_is_tried_again() {
    let scene = scene().await;
    let unknown = scene.client.room(parlour_protocol::RoomId::new());
    let error = unknown.subscribe().await.unwrap_err();
    assert_eq!(error.kind(), RequestErrorKind::Rejected(ErrorCode::Forbidden));
    let other = scene.server.create_room();
    let away = ProtocolError::new(ErrorCode::Unavailable, "");
    scene.server.script("room.subscribe", Fault::Refuse(away));
    assert_eq!(scene.client.room(other).subscribe().await.unwrap().verdict, Verdict::Live);
}

#[tokio::test(start_paused = true)]
async fn behind_is_caught_up_or_reset() {
    let mut scene = scene().await;
    scene.server.post(scene.room_id, "0");
    scene.created(1).await;
    scene.server.script_events(vec![EventFault::Drop; 5]);
    for text in numbers(1..6) {
        scene.server.post(scene.room_id, &text);
    }
    scene.server.fall_behind(scene.room_id, 1);
    assert_eq!(scene.created(5).await, numbers(1..6));
    scene.server.set_max_catch_up(2);
    scene.server.script_events(vec![EventFault::Drop; 5]);
    for text in numbers(6..11) {
        scene.server.post(scene.room_id, &text);
    }
    scene.server.fall_behind(scene.room_id, 6);
    scene.next(|event| matches!(event, RoomEvent::Reset).then_some(())).await;
    scene.loaded().await;
    assert_eq!(scene.texts().await, numbers(0..11));
    assert_eq!(scene.server.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_new_epoch_is_a_reset() {
    let mut scene = scene().await;
    scene.server.post(scene.room_id, "before");
    scene.created(1).await;
    scene.server.with_room(scene.room_id, |room| room.change_epoch());
    scene.server.cut();
    let verdict = scene.next(|event| match event {
        RoomEvent::Subscribed { verdict } => Some(verdict),
        _ => None,
    });
    assert_eq!(verdict.await, Verdict::Reset);
    scene.loaded().await;
    assert_eq!(scene.texts().await, ["before"]);
}

#[tokio::test(start_paused = true)]
async fn bl_036_a_client_that_was_silent_for_long_still_gets_every_message() {
    let mut scene = scene().await;
    scene.server.freeze();
    for text in numbers(0..10) {
        scene.server.post(scene.room_id, &text);
    }
    assert_eq!(scene.created(10).await, numbers(0..10));
}

#[tokio::test(start_paused = true)]
async fn without_echo_own_messages_come_from_replies_and_nothing_is_missing() {
    let mut scene = scene_with(|builder| builder.echo(false)).await;
    let own = scene.room.send("own").await.unwrap();
    assert_eq!(scene.created(1).await, ["own"]);
    scene.server.post(scene.room_id, "other");
    assert_eq!(scene.created(1).await, ["other"]);
    scene.room.react(own.row_key, "👍").await.unwrap();
    let reacted = scene.room.message(own.row_key).await.unwrap().unwrap();
    assert_eq!((reacted.rev, reacted.reactions[0].count), (2, 1));
    assert_eq!(reacted.mine.as_ref().unwrap().reactions, ["👍"]);
    assert_eq!(scene.server.received_of("room.subscribe").len(), 1, "no hole was seen");
    scene.server.script("message.send", Fault::CutAfter);
    scene.room.send("lost reply").await.unwrap();
    scene.server.post(scene.room_id, "end");
    assert_eq!(scene.created(2).await, ["lost reply", "end"]);
    assert_eq!(scene.texts().await, scene.truth());
}

#[tokio::test(start_paused = true)]
async fn history_is_read_at_first_and_further_on_demand() {
    let server = parlour_client::test_util::FakeServer::new();
    let room_id = server.create_room();
    server.with_room(room_id, |room| {
        for text in numbers(0..120) {
            room.create(parlour_protocol::UserId::new(), &text, None, None);
        }
    });
    let mut scene = scene_on(server, room_id, |builder| builder).await;
    scene.loaded().await;
    assert_eq!(scene.texts().await, numbers(70..120));
    assert_eq!(scene.room.load_older(50).await.unwrap(), 50);
    assert_eq!(scene.room.load_older(50).await.unwrap(), 20);
    let timeline = scene.room.timeline().await.unwrap();
    assert_eq!((timeline.messages.len(), timeline.has_older), (120, false));
    assert_eq!(scene.room.load_older(50).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_position_of_an_earlier_run_is_gone_on_from() {
    let mut scene = scene().await;
    scene.server.post(scene.room_id, "seen");
    scene.created(1).await;
    let position = scene.room.timeline().await.unwrap().position.unwrap();
    scene.client.close().await;
    scene.server.post(scene.room_id, "missed");
    let client = scene.server.client().connect().await.unwrap();
    let room = client.room(scene.room_id);
    scene.events = room.events();
    let subscribed = room.subscribe().since(&position).history(0).await.unwrap();
    assert_eq!(subscribed.verdict, Verdict::Exact);
    assert_eq!(scene.created(1).await, ["missed"]);
}

#[tokio::test(start_paused = true)]
async fn edits_reactions_and_deletes_are_seen_and_final() {
    let mut scene = scene().await;
    let mine = scene.room.send("one").await.unwrap().row_key;
    scene.created(1).await;
    scene.room.edit(mine, "two").await.unwrap();
    let changed = |event| match event {
        RoomEvent::Changed { message, .. } => Some(message),
        _ => None,
    };
    assert_eq!(scene.next(changed).await.message, "two");
    scene.room.react(mine, "👍").await.unwrap();
    assert_eq!(scene.next(changed).await.reactions[0].count, 1);
    // The reply is lost, the repeat finds nothing: it has been done.
    scene.server.script("message.delete", Fault::CutAfter);
    scene.room.delete(mine).await.unwrap();
    let deleted = scene.next(|event| match event {
        RoomEvent::Deleted { row_key, .. } => Some(row_key),
        _ => None,
    });
    assert_eq!(deleted.await, mine);
    assert_eq!(scene.texts().await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_unsubscribed_room_is_quiet() {
    let mut scene = scene().await;
    scene.room.unsubscribe().await.unwrap();
    scene.next(|event| matches!(event, RoomEvent::Ended(Ending::Unsubscribed)).then_some(())).await;
    scene.server.post(scene.room_id, "unheard");
    scene.room.subscribe().await.unwrap();
    scene.server.post(scene.room_id, "heard");
    assert_eq!(scene.created(1).await, ["heard"]);
    assert_eq!(scene.server.received_of("room.unsubscribe").len(), 1);
}
