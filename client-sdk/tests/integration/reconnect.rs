use std::time::Duration;

use parlour_client::{ClientEvent, ConnectErrorKind, ConnectionState};
use parlour_protocol::{RoomId, Secret, limits::Limits};
use tokio::time::Instant;

use crate::harness::{Scene, numbers, scene, scene_with};

async fn disconnected(scene: &Scene) -> Duration {
    let mut events = scene.client.events();
    loop {
        if let ClientEvent::Disconnected { retry_in, .. } = events.next().await.unwrap() {
            return retry_in;
        }
    }
}

async fn closed(scene: &Scene) -> Option<ConnectErrorKind> {
    let mut state = scene.client.state();
    let state = state.wait_for(|state| matches!(state, ConnectionState::Closed { .. })).await.unwrap();
    let ConnectionState::Closed { reason, .. } = &*state else { panic!() };
    *reason
}

#[tokio::test(start_paused = true)]
async fn bl_001_what_others_wrote_while_the_socket_was_gone_arrives_once_and_in_order() {
    let mut scene = scene().await;
    scene.server.cut();
    disconnected(&scene).await;
    for text in numbers(0..5) {
        scene.server.post(scene.room_id, &text);
    }
    assert_eq!(scene.created(5).await, numbers(0..5));
    scene.caught_up().await;
    scene.server.post(scene.room_id, "after");
    assert_eq!(scene.created(1).await, ["after"]);
    assert_eq!(scene.texts().await, scene.truth());
}

#[tokio::test(start_paused = true)]
async fn bl_010_twenty_drops_of_one_session_are_twenty_resumes() {
    let mut scene = scene().await;
    for number in 0..20 {
        scene.server.cut();
        disconnected(&scene).await;
        scene.server.post(scene.room_id, &number.to_string());
        assert_eq!(scene.created(1).await, [number.to_string()]);
        scene.caught_up().await;
    }
    assert_eq!(scene.texts().await, numbers(0..20));
}

#[tokio::test(start_paused = true)]
async fn bl_020_a_frozen_server_is_given_up_after_two_and_a_half_heartbeats_and_sends_are_kept() {
    let mut scene = scene().await;
    let frozen_at = Instant::now();
    scene.server.freeze();
    let room = scene.room.clone();
    let send = tokio::spawn(async move { room.send("kept").deadline(Duration::from_secs(300)).await });
    disconnected(&scene).await;
    let silent = frozen_at.elapsed();
    assert!(silent >= Duration::from_secs(37) && silent <= Duration::from_secs(39), "{silent:?}");
    assert_eq!(send.await.unwrap().unwrap().message, "kept");
    assert_eq!(scene.created(1).await, ["kept"]);
    assert_eq!(scene.truth(), ["kept"]);
}

#[tokio::test(start_paused = true)]
async fn bl_019_a_missed_heartbeat_costs_one_reconnect_and_no_more() {
    let mut scene = scene().await;
    scene.server.set_silent(true);
    disconnected(&scene).await;
    scene.server.set_silent(false);
    scene.caught_up().await;
    let dials = scene.server.dials().len();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(scene.server.dials().len(), dials, "liveness belongs to the socket");
}

#[tokio::test(start_paused = true)]
async fn pings_keep_the_pace_of_the_server() {
    let scene = scene().await;
    tokio::time::sleep(Duration::from_secs(151)).await;
    assert_eq!(scene.server.received_of("session.ping").len(), 10);
    assert_eq!(scene.server.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn bl_022_after_a_restart_each_room_is_subscribed_once_per_connection() {
    let mut scene = scene().await;
    let more: Vec<RoomId> = (0..4).map(|_| scene.server.create_room()).collect();
    for room_id in &more {
        scene.client.room(*room_id).subscribe().await.unwrap();
        // A second time changes nothing.
        scene.client.room(*room_id).subscribe().await.unwrap();
    }
    scene.server.close(1001, "restarting");
    disconnected(&scene).await;
    scene.caught_up().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let frames: Vec<_> =
        scene.server.received_of("room.subscribe").into_iter().filter(|frame| frame.connection == 2).collect();
    assert_eq!(frames.len(), 1, "five rooms fit one frame");
    assert_eq!(frames[0].data["rooms"].as_array().unwrap().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn bl_023_fifty_rolling_restarts_are_fifty_resumes() {
    let mut scene = scene().await;
    for round in 0..50 {
        scene.server.close(1001, "restarting");
        assert!(disconnected(&scene).await <= Duration::from_secs(5));
        scene.server.post(scene.room_id, &round.to_string());
        assert_eq!(scene.created(1).await, [round.to_string()]);
    }
}

#[tokio::test(start_paused = true)]
async fn refused_dials_back_off_between_nothing_and_thirty_seconds() {
    let mut scene = scene().await;
    scene.server.refuse_dials(12);
    scene.server.cut();
    scene.caught_up().await;
    let dials = scene.server.dials();
    assert_eq!(dials.len(), 14);
    for (failures, pair) in dials[1..].windows(2).enumerate() {
        let ceiling = Duration::from_millis(500 << (failures + 1).min(10)).min(Duration::from_secs(30));
        let wait = pair[1] - pair[0];
        assert!(wait <= ceiling + Duration::from_millis(20), "{wait:?} after {failures} failures");
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_frames_are_waited_for_as_long_as_the_server_says() {
    let scene = scene().await;
    scene.server.close(4429, "retryAfterMs=12000");
    assert_eq!(disconnected(&scene).await, Duration::from_secs(12));
}

#[tokio::test(start_paused = true)]
async fn a_normal_close_stops_the_client() {
    let scene = scene().await;
    scene.server.close(1000, "");
    assert_eq!(closed(&scene).await, None);
    let error = scene.room.send("late").await.unwrap_err();
    assert_eq!(error.kind(), parlour_client::RequestErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_the_server_finds_faulty_stops_and_says_so() {
    let scene = scene().await;
    scene.server.close(4400, "not a frame");
    assert_eq!(closed(&scene).await, Some(ConnectErrorKind::Refused));
}

#[tokio::test(start_paused = true)]
async fn a_revoked_token_stops_a_client_that_has_no_other() {
    let scene = scene().await;
    scene.server.revoke_token("token");
    scene.server.close(4401, "revoked");
    assert_eq!(closed(&scene).await, Some(ConnectErrorKind::Unauthenticated));
}

#[tokio::test(start_paused = true)]
async fn a_revoked_token_is_replaced_where_there_is_a_way_to() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let mut scene = scene_with(|builder| {
        builder.token_from(|| async {
            let call = CALLS.fetch_add(1, Ordering::SeqCst);
            Ok(Secret::new(if call == 0 { "token" } else { "next" }))
        })
    })
    .await;
    scene.server.add_token("next", scene.server.user());
    scene.server.revoke_token("token");
    scene.server.close(4401, "revoked");
    scene.caught_up().await;
    assert_eq!(CALLS.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_token_is_told_at_once() {
    let server = parlour_client::test_util::FakeServer::new();
    let error = server.client().token("wrong").connect().await.unwrap_err();
    assert_eq!(error.kind(), ConnectErrorKind::Unauthenticated);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_is_tried_until_the_deadline() {
    let server = parlour_client::test_util::FakeServer::new();
    server.refuse_dials(1000);
    let error = server.client().connect_deadline(Duration::from_secs(60)).connect().await.unwrap_err();
    assert_eq!(error.kind(), ConnectErrorKind::DeadlinePassed);
    assert!(server.dials().len() > 3);
}

#[tokio::test(start_paused = true)]
async fn many_rooms_resume_in_as_few_frames_as_both_limits_allow() {
    let mut scene = scene().await;
    scene.server.set_limits(Limits { rooms_per_subscribe: 100, frame_bytes: 4096, ..Limits::default() });
    for _ in 0..120 {
        let room_id = scene.server.create_room();
        scene.client.room(room_id).subscribe().history(0).await.unwrap();
    }
    scene.server.cut();
    scene.caught_up().await;
    let frames: Vec<_> =
        scene.server.received_of("room.subscribe").into_iter().filter(|frame| frame.connection == 2).collect();
    let rooms: usize = frames.iter().map(|frame| frame.data["rooms"].as_array().unwrap().len()).sum();
    assert_eq!(rooms, 121);
    assert!(frames.len() <= 5, "{} frames", frames.len());
}

#[tokio::test(start_paused = true)]
async fn steps_of_the_servers_clock_change_nothing() {
    let mut scene = scene().await;
    for millis in [86_400_000, -2 * 86_400_000] {
        scene.server.step_clock(millis);
        scene.server.post(scene.room_id, "tick");
        assert_eq!(scene.created(1).await, ["tick"]);
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    assert_eq!(scene.server.dials().len(), 1);
    assert_eq!(scene.texts().await, scene.truth());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_client_says_goodbye_and_is_gone() {
    let scene = scene().await;
    let Scene { server, client, room, events, .. } = scene;
    let state = client.state();
    drop((client, room, events));
    let mut state = state;
    state.wait_for(|state| matches!(state, ConnectionState::Closed { .. })).await.unwrap();
    assert_eq!(server.dials().len(), 1);
}
