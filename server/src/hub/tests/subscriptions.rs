//! Verdicts, catch-up, access and the user stream.

use parlour_protocol::{
    EphemeralEvent,
    event::{LeaveReason, MemberLeft, RoomDeleted, TypingStarted},
};

use super::*;

#[tokio::test]
async fn live_events_reach_every_codec_once_and_in_order() {
    let world = World::new();
    let room = world.store.create();
    let mut clients = Vec::new();
    for codec in [Codec::Json, Codec::MessagePack, Codec::Json] {
        let mut client = world.connect(codec).await;
        world.store.join(room, client.user_id);
        assert_eq!(client.subscribe(room, None).await.verdict, Some(Verdict::Live));
        clients.push(client);
    }
    for _ in 0..500 {
        world.store.say(room);
    }
    for client in &mut clients {
        client.read_to(room, 500).await;
        assert_eq!(client.views[&room].seen, (1..=500).collect::<Vec<_>>());
        assert_eq!(client.views[&room].behind, 0);
    }
    assert_eq!(world.hub.metrics.deliveries.get(), 1500);
}

#[tokio::test]
async fn a_catch_up_ends_where_live_events_begin() {
    let world = World::new();
    let room = world.store.create();
    for _ in 0..250 {
        world.store.say(room);
    }
    for (codec, folds) in [(Codec::Json, false), (Codec::MessagePack, true)] {
        if folds {
            world.store.append_entry(room, folding(), None, false);
        }
        let head = world.store.head(room);
        let mut client = world.connect(codec).await;
        world.store.join(room, client.user_id);
        let view = client.subscribe(room, Some(10)).await;
        assert_eq!((view.verdict, view.is_live), (Some(Verdict::Exact), false));
        world.store.say(room);
        client.read_to(room, head + 1).await;
        let view = &client.views[&room];
        assert_eq!(view.seen, (11..=head + 1).collect::<Vec<_>>());
        assert_eq!(view.pages, 3);
    }
    assert_eq!(world.store.reads.load(Ordering::Relaxed), 2, "both were cold or had to fold");
}

#[tokio::test]
async fn what_memory_holds_is_not_read_from_the_store() {
    let world = World::new();
    let room = world.store.create();
    let mut first = world.connect(Codec::Json).await;
    world.store.join(room, first.user_id);
    first.subscribe(room, None).await;
    for _ in 0..300 {
        world.store.say(room);
    }
    first.read_to(room, 300).await;
    for codec in [Codec::Json, Codec::MessagePack] {
        let mut second = world.connect(codec).await;
        world.store.join(room, second.user_id);
        second.subscribe(room, Some(0)).await;
        second.read_to(room, 300).await;
        assert_eq!(second.views[&room].seen, (1..=300).collect::<Vec<_>>());
        assert_eq!(second.views[&room].pages, 3);
    }
    assert_eq!(world.store.reads.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_cold_room_is_read_once_for_all_who_come_back() {
    let world = World::new();
    let room = world.store.create();
    for _ in 0..50 {
        world.store.say(room);
    }
    for since in [20, 20, 30, 49] {
        let mut client = world.connect(Codec::Json).await;
        world.store.join(room, client.user_id);
        client.subscribe(room, Some(since)).await;
        client.read_to(room, 50).await;
        assert_eq!(client.views[&room].seen, (since + 1..=50).collect::<Vec<_>>());
        assert_eq!(world.store.reads.load(Ordering::Relaxed), 1);
    }
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, Some(0)).await;
    client.read_to(room, 50).await;
    assert_eq!(world.store.reads.load(Ordering::Relaxed), 2, "memory did not reach back that far");
}

#[tokio::test]
async fn verdicts_tell_what_can_be_caught_up() {
    let world = World::new();
    let room = world.store.create();
    for _ in 0..1500 {
        world.store.say(room);
    }
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    assert_eq!(client.subscribe(room, None).await.verdict, Some(Verdict::Live));
    assert_eq!(client.subscribe(room, Some(500)).await.verdict, Some(Verdict::Exact));
    client.read_to(room, 1500).await;
    let view = client.subscribe(room, Some(499)).await;
    assert_eq!((view.verdict, view.position), (Some(Verdict::Gap), 1500));
    assert_eq!(client.subscribe(room, Some(1501)).await.verdict, Some(Verdict::Reset));
    client.views.get_mut(&room).unwrap().epoch = "e0".to_owned();
    let view = client.subscribe(room, Some(1500)).await;
    assert_eq!((view.verdict, view.epoch.as_str()), (Some(Verdict::Reset), "e1"));
    assert_eq!(world.store.say(room), 1501);
    client.read_to(room, 1501).await;
}

#[tokio::test]
async fn what_the_log_no_longer_keeps_is_a_gap() {
    let world = World::new();
    let room = world.store.create();
    for _ in 0..20 {
        world.store.say(room);
    }
    lock(&world.store.rooms).get_mut(&room).unwrap().kept_from = 10;
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    assert_eq!(client.subscribe(room, Some(8)).await.verdict, Some(Verdict::Gap));
    assert_eq!(client.subscribe(room, Some(9)).await.verdict, Some(Verdict::Exact));
    world.store.say(room);
    client.read_to(room, 21).await;
}

#[tokio::test]
async fn bl_006_a_resume_with_nothing_missed_is_exact_and_empty() {
    let world = World::new();
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    let view = client.subscribe(room, Some(0)).await;
    assert_eq!(view.verdict, Some(Verdict::Exact));
    client.read_to(room, 0).await;
    assert_eq!((client.views[&room].pages, client.views[&room].seen.len()), (1, 0));
}

#[tokio::test]
async fn bl_008_a_position_at_the_head_is_exact_however_old() {
    let world = World::new();
    let room = world.store.create();
    world.store.say(room);
    lock(&world.store.rooms).get_mut(&room).unwrap().kept_from = 2;
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    assert_eq!(client.subscribe(room, Some(1)).await.verdict, Some(Verdict::Exact));
    client.read_to(room, 1).await;
}

#[tokio::test]
async fn bl_010_every_resume_of_twenty_works() {
    let world = World::new();
    let room = world.store.create();
    let user_id = UserId::new();
    world.store.join(room, user_id);
    let mut seen = Vec::new();
    for round in 0..20 {
        let mut client = world.connect_as(Codec::Json, user_id).await;
        let view = client.subscribe(room, Some(round.max(1) - 1)).await;
        assert_eq!(view.verdict, Some(Verdict::Exact));
        client.read_to(room, round).await;
        let before = client.views[&room].seen.clone();
        drop(client);
        world.store.say(room);
        seen.extend(before);
    }
    let mut client = world.connect_as(Codec::Json, user_id).await;
    client.subscribe(room, Some(19)).await;
    client.read_to(room, 20).await;
    seen.extend(&client.views[&room].seen);
    assert_eq!(seen, (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn bl_011_a_resume_works_while_the_old_connection_is_still_open() {
    let world = World::new();
    let room = world.store.create();
    let user_id = UserId::new();
    world.store.join(room, user_id);
    let mut old = Vec::new();
    for round in 0..50 {
        let mut client = world.connect_as(Codec::Json, user_id).await;
        client.subscribe(room, Some(round)).await;
        world.store.say(room);
        client.read_to(room, round + 1).await;
        assert_eq!(client.views[&room].seen, [round + 1]);
        old.push(client);
    }
}

#[tokio::test]
async fn an_error_of_one_room_leaves_the_others_alone() {
    let world = World::new();
    let (open, closed, absent) = (world.store.create(), world.store.create(), RoomId::new());
    let mut client = world.connect(Codec::Json).await;
    world.store.join(open, client.user_id);
    let id = client.ask(&[(closed, None), (open, None), (absent, Some(3))], true).await;
    while client.asked.contains_key(&id) {
        client.step().await;
    }
    assert_eq!(client.views[&closed].error, Some(ErrorCode::Forbidden));
    assert_eq!(client.views[&absent].error, Some(ErrorCode::Forbidden));
    assert_eq!(client.views[&open].verdict, Some(Verdict::Live));
    world.store.say(closed);
    world.store.say(open);
    client.read_to(open, 1).await;
    assert!(world.hub.find_room(absent).is_none(), "nothing is kept of it");
}

#[tokio::test]
async fn a_store_that_is_away_is_told_apart_from_no_access() {
    let world = World::new();
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    world.store.is_down.store(true, Ordering::Relaxed);
    assert_eq!(client.subscribe(room, None).await.error, Some(ErrorCode::Unavailable));
    world.store.is_down.store(false, Ordering::Relaxed);
    assert_eq!(client.subscribe(room, None).await.verdict, Some(Verdict::Live));
}

#[tokio::test]
async fn an_unsubscribed_room_is_silent() {
    let world = World::new();
    let (one, two) = (world.store.create(), world.store.create());
    let mut client = world.connect(Codec::Json).await;
    world.store.join(one, client.user_id);
    world.store.join(two, client.user_id);
    client.subscribe(one, None).await;
    client.subscribe(two, None).await;
    client.command("room.unsubscribe", json!({"roomIds": [one, RoomId::new()]})).await;
    client.step().await;
    world.store.say(one);
    world.store.say(two);
    client.read_to(two, 1).await;
    assert!(client.views[&one].seen.is_empty());
}

#[tokio::test]
async fn without_echo_own_events_become_positions() {
    let world = World::new();
    let room = world.store.create();
    let mut quiet = world.connect(Codec::Json).await;
    let mut other = world.connect(Codec::MessagePack).await;
    for client in [&mut quiet, &mut other] {
        world.store.join(room, client.user_id);
    }
    let id = quiet.ask(&[(room, None)], false).await;
    while quiet.asked.contains_key(&id) {
        quiet.step().await;
    }
    other.subscribe(room, None).await;
    world.store.append_entry(room, reaction(), Some(quiet.id), false);
    world.store.append_entry(room, plain(), Some(quiet.id), false);
    world.store.append_entry(room, reaction(), Some(other.id), false);
    quiet.read_to(room, 3).await;
    other.read_to(room, 3).await;
    assert_eq!(quiet.views[&room].advanced, [1]);
    assert_eq!(quiet.views[&room].seen, [2, 3]);
    assert_eq!(other.views[&room].seen, [1, 2, 3]);
}

#[tokio::test]
async fn nothing_after_a_kick_reaches_the_kicked() {
    let world = World::new();
    let room = world.store.create();
    let mut stays = world.connect(Codec::Json).await;
    let mut kicked = world.connect(Codec::Json).await;
    for client in [&mut stays, &mut kicked] {
        world.store.join(room, client.user_id);
        client.subscribe(room, None).await;
    }
    world.store.say(room);
    let left = MemberLeft { user_id: kicked.user_id, reason: LeaveReason::Kicked, by_user_id: Some(stays.user_id) };
    world.store.append_entry(room, DurableEvent::MemberLeft(Box::new(left)), None, false);
    world.store.say(room);
    stays.read_to(room, 3).await;
    while kicked.views[&room].ended.is_none() {
        kicked.step().await;
    }
    assert_eq!(kicked.views[&room].ended, Some(UnsubscribeReason::Kicked));
    assert_eq!(kicked.views[&room].seen, [1]);
    let view = kicked.subscribe(room, Some(1)).await;
    assert_eq!(view.error, Some(ErrorCode::Forbidden));
    world.store.bus.publish(BusEvent::User {
        user_id: kicked.user_id,
        event: Arc::new(UserEvent::UserBehind(Box::new(parlour_protocol::object::Empty {}))),
    });
    while kicked.user_events.is_empty() {
        kicked.step().await;
    }
    assert_eq!(kicked.views[&room].seen, [1], "not a frame of the room came");
}

#[tokio::test]
async fn a_deleted_room_says_so_and_ends() {
    let world = World::new();
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, None).await;
    let deleted = RoomDeleted { user_id: UserId::new() };
    world.store.append_entry(room, DurableEvent::RoomDeleted(Box::new(deleted)), None, false);
    while client.views[&room].ended.is_none() {
        client.step().await;
    }
    assert_eq!(client.views[&room].seen, [1]);
    assert_eq!(client.views[&room].ended, Some(UnsubscribeReason::Deleted));
}

#[tokio::test]
async fn a_revoked_role_ends_or_keeps_the_subscription_as_access_says() {
    let world = World::new();
    let room = world.store.create();
    let mut loses = world.connect(Codec::Json).await;
    let mut keeps = world.connect(Codec::Json).await;
    for client in [&mut loses, &mut keeps] {
        world.store.join(room, client.user_id);
        client.subscribe(room, None).await;
    }
    let revoked = |user_id| DurableEvent::RoleRevoked(Box::new(RoleAssignment { role_id: RoleId::new(), user_id }));
    world.store.append_entry(room, revoked(loses.user_id), None, false);
    world.store.say(room);
    keeps.read_to(room, 2).await;
    while loses.views[&room].ended.is_none() {
        loses.step().await;
    }
    assert_eq!(loses.views[&room].ended, Some(UnsubscribeReason::Revoked));
    assert_eq!(loses.views[&room].seen, [0; 0], "nor the change that took the access");
}

#[tokio::test]
async fn hints_reach_the_room_but_not_a_causer_without_echo() {
    let world = World::new();
    let room = world.store.create();
    let mut quiet = world.connect(Codec::Json).await;
    let mut other = world.connect(Codec::MessagePack).await;
    for (client, echo) in [(&mut quiet, false), (&mut other, true)] {
        world.store.join(room, client.user_id);
        let id = client.ask(&[(room, None)], echo).await;
        while client.asked.contains_key(&id) {
            client.step().await;
        }
    }
    for cause in [quiet.id, other.id] {
        let typing = TypingStarted { user_id: UserId::new(), name: "Ada".to_owned(), connection_id: cause };
        let event = Arc::new(EphemeralEvent::TypingStarted(Box::new(typing)));
        world.store.bus.publish(BusEvent::Ephemeral { room_id: room, event, cause });
    }
    world.store.say(room);
    quiet.read_to(room, 1).await;
    other.read_to(room, 1).await;
    assert_eq!((quiet.views[&room].hints, other.views[&room].hints), (1, 2));
}

#[tokio::test]
async fn pings_answer_the_heads_that_changed() {
    let world = World::new();
    let (busy, calm) = (world.store.create(), world.store.create());
    let mut client = world.connect(Codec::Json).await;
    for room in [busy, calm] {
        world.store.join(room, client.user_id);
        client.subscribe(room, None).await;
    }
    world.store.say(busy);
    client.read_to(busy, 1).await;
    for expected in [json!({busy.to_string(): 1}), json!({})] {
        client.command("session.ping", json!({})).await;
        let Got::Message(message) = client.peer.next().await else { panic!("no answer") };
        let answer: serde_json::Value = serde_json::from_slice(&message).unwrap();
        assert_eq!(answer["data"]["heads"], expected);
    }
}

#[tokio::test]
async fn user_events_reach_all_connections_of_the_user_alone() {
    let world = World::new();
    let user_id = UserId::new();
    let mut one = world.connect_as(Codec::Json, user_id).await;
    let mut two = world.connect_as(Codec::MessagePack, user_id).await;
    let mut other = world.connect(Codec::Json).await;
    let behind = || Arc::new(UserEvent::UserBehind(Box::new(parlour_protocol::object::Empty {})));
    world.store.bus.publish(BusEvent::User { user_id, event: behind() });
    world.store.bus.publish(BusEvent::User { user_id: other.user_id, event: behind() });
    for client in [&mut one, &mut two, &mut other] {
        client.step().await;
        assert_eq!(client.user_events.len(), 1);
    }
    assert_eq!(world.hub.connections_of(user_id), 2);
}

#[tokio::test]
async fn an_ended_session_closes_its_sockets_and_no_others() {
    let world = World::new();
    let user_id = UserId::new();
    let mut ends = world.connect_as(Codec::Json, user_id).await;
    let mut stays = world.connect_as(Codec::Json, user_id).await;
    let room = world.store.create();
    world.store.join(room, user_id);
    ends.subscribe(room, None).await;
    world.store.bus.publish(BusEvent::SessionEnded { session_id: ends.session_id });
    ends.step().await;
    assert_eq!(ends.views[&room].ended, Some(UnsubscribeReason::Revoked), "the last frame of the room");
    assert!(matches!(ends.peer.next().await, Got::Close(4401, _)));
    world.store.bus.publish(BusEvent::UserEnded { user_id });
    assert!(matches!(stays.peer.next().await, Got::Close(4401, _)));
}

#[tokio::test]
async fn connections_of_a_user_are_limited() {
    let world = World::with(|limits| limits.connections_per_user = 1);
    let user_id = UserId::new();
    let _first = world.connect_as(Codec::Json, user_id).await;
    let (server, client) = sockets().await;
    let hub = Arc::clone(&world.hub);
    world.hub.serve_socket(Taken { stream: server, early: Bytes::new() }, Codec::Json, None, move |connection, _| {
        assert_eq!(hub.register_user(connection, SessionInfo { user_id, ..session() }), Err(TooMany));
    });
    let mut peer = Peer::new(client);
    peer.send(0x81, b"hello").await;
    assert_eq!(peer.next().await, Got::Close(4429, "retryAfterMs=60000".to_owned()));
}

#[tokio::test]
async fn connections_of_an_address_are_limited_until_one_leaves() {
    let world = World::with(|limits| limits.connections_per_address = 1);
    let address = "192.0.2.1".parse().ok();
    let connect = || async {
        let (server, client) = sockets().await;
        world.hub.serve_socket(Taken { stream: server, early: Bytes::new() }, Codec::Json, address, |connection, _| {
            connection.reply(&"welcome");
        });
        let mut peer = Peer::new(client);
        peer.send(0x81, b"hello").await;
        let got = peer.next().await;
        (peer, got)
    };
    let (mut first, got) = connect().await;
    assert_eq!(got, Got::Message(b"\"welcome\"".to_vec()));
    let (_second, got) = connect().await;
    assert!(matches!(got, Got::Close(4429, _)));
    first.send(0x88, b"").await;
    while first.next().await != Got::Eof {}
    drop(first);
    while !lock(&world.hub.addresses).is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(connect().await.1, Got::Message(b"\"welcome\"".to_vec()));
}

#[tokio::test]
async fn a_drain_tells_everybody_and_waits_for_them() {
    let world = World::new();
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(world.connect(Codec::Json).await);
    }
    let drain = tokio::spawn({
        let hub = Arc::clone(&world.hub);
        async move { hub.drain(Duration::from_secs(5)).await }
    });
    for client in &mut clients {
        assert!(matches!(client.peer.next().await, Got::Close(1001, _)));
    }
    drop(clients);
    drain.await.unwrap();
    assert!(lock(&world.hub.connections).is_empty());
}

#[tokio::test]
async fn a_connection_that_ends_leaves_nothing_behind() {
    let world = World::new();
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, None).await;
    let user_id = client.user_id;
    drop(client);
    while world.hub.connections_of(user_id) > 0 || !world.hub.find_room(room).unwrap().lock().members.is_empty() {
        tokio::task::yield_now().await;
    }
    world.hub.context.pulse.advance(1_000);
    world.hub.evict();
    assert!(world.hub.find_room(room).is_none());
    assert_eq!(world.hub.metrics.rooms.get(), 0);
}
