//! What the bus loses and what slow sockets do not take.

use super::*;

#[tokio::test]
async fn a_hole_is_filled_from_the_store() {
    let world = World::new();
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, None).await;
    world.store.say(room);
    client.read_to(room, 1).await;
    world.store.append_entry(room, plain(), None, true);
    world.store.say(room);
    client.read_to(room, 3).await;
    world.store.say(room);
    client.read_to(room, 4).await;
    assert_eq!(client.views[&room].seen, [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_lost_last_event_is_found_by_comparing_heads() {
    let world = World::new();
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, None).await;
    world.store.append_entry(room, plain(), None, true);
    world.hub.compare_heads().await;
    assert_eq!(world.hub.find_room(room).unwrap().lock().head(), 0, "it may still be on its way");
    world.hub.compare_heads().await;
    client.read_to(room, 1).await;
    assert_eq!(client.views[&room].seen, [1]);
}

#[tokio::test]
async fn a_hole_waits_for_a_store_that_is_away() {
    let world = World::new();
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, None).await;
    world.store.is_down.store(true, Ordering::Relaxed);
    world.store.append_entry(room, plain(), None, true);
    world.store.say(room);
    client.command("session.ping", json!({})).await;
    client.step().await;
    world.store.is_down.store(false, Ordering::Relaxed);
    world.store.say(room);
    client.read_to(room, 3).await;
    assert_eq!(client.views[&room].seen, [1, 2, 3]);
}

#[tokio::test]
async fn a_log_that_starts_anew_is_told_to_its_listeners() {
    let world = World::new();
    let room = world.store.create();
    for _ in 0..5 {
        world.store.say(room);
    }
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, None).await;
    {
        let mut rooms = lock(&world.store.rooms);
        let room = rooms.get_mut(&room).unwrap();
        room.epoch = "e2".to_owned();
        room.log.truncate(2);
    }
    world.hub.compare_heads().await;
    while client.views[&room].gaps == 0 {
        client.step().await;
    }
    world.store.say(room);
    client.read_to(room, 3).await;
    assert_eq!(client.subscribe(room, Some(3)).await.verdict, Some(Verdict::Reset));
}

/// Fills a room until the client's queue has overflowed.
async fn overflow(world: &World, room: RoomId) {
    let before = world.hub.metrics.behind.get_or_create(&slow()).get();
    while world.hub.metrics.behind.get_or_create(&slow()).get() == before {
        world.store.append_entry(room, long(50_000), None, false);
        tokio::task::yield_now().await;
    }
}

fn slow() -> metrics::Cause {
    metrics::Cause { cause: "slow_socket" }
}

#[tokio::test]
async fn a_slow_reader_is_told_and_misses_nothing() {
    let world = World::new();
    let room = world.store.create();
    let mut slow_client = world.connect(Codec::Json).await;
    let mut fast = world.connect(Codec::MessagePack).await;
    for client in [&mut slow_client, &mut fast] {
        world.store.join(room, client.user_id);
        client.subscribe(room, None).await;
    }
    let reader = tokio::spawn(async move {
        loop {
            fast.step().await;
        }
    });
    overflow(&world, room).await;
    for _ in 0..20 {
        world.store.say(room);
    }
    let head = world.store.head(room);
    slow_client.read_to(room, head).await;
    world.store.say(room);
    slow_client.read_to(room, head + 1).await;
    let view = &slow_client.views[&room];
    assert_eq!(view.seen, (1..=head + 1).collect::<Vec<_>>());
    assert!(view.behind >= 1 && view.gaps == 0);
    reader.abort();
}

#[tokio::test]
async fn a_reader_that_slept_too_long_gets_a_gap() {
    let world = World::with(|limits| limits.max_catch_up = 50);
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, None).await;
    overflow(&world, room).await;
    for _ in 0..60 {
        world.store.say(room);
    }
    let head = world.store.head(room);
    client.read_to(room, head).await;
    assert_eq!(client.views[&room].gaps, 1);
    world.store.say(room);
    client.read_to(room, head + 1).await;
}

#[tokio::test]
async fn a_slow_room_does_not_stop_the_connections_other_rooms() {
    let world = World::new();
    let (loud, calm) = (world.store.create(), world.store.create());
    let mut client = world.connect(Codec::Json).await;
    for room in [loud, calm] {
        world.store.join(room, client.user_id);
        client.subscribe(room, None).await;
    }
    overflow(&world, loud).await;
    let heads = (world.store.head(loud), world.store.say(calm));
    client.read_to(loud, heads.0).await;
    client.read_to(calm, heads.1).await;
    assert_eq!(client.views[&calm].seen, [1]);
    assert_eq!(client.views[&loud].seen, (1..=heads.0).collect::<Vec<_>>());
}

#[tokio::test]
async fn behind_again_and_again_ends_the_connection() {
    let world = World::new();
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, None).await;
    for round in 0..4 {
        overflow(&world, room).await;
        if round < 3 {
            let head = world.store.head(room);
            client.read_to(room, head).await;
        }
    }
    loop {
        match client.peer.next().await {
            Got::Message(_) | Got::Ping => {}
            Got::Close(code, _) => {
                assert_eq!(code, 4413);
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_bus_that_lags_is_repaired_and_told() {
    let world = World::new();
    let room = world.store.create();
    let mut client = world.connect(Codec::Json).await;
    world.store.join(room, client.user_id);
    client.subscribe(room, None).await;
    // On one thread nothing is delivered before this loop ends.
    for _ in 0..70_000 {
        world.store.append_entry(room, plain(), None, false);
    }
    while client.views[&room].position < 70_000 || client.user_events.is_empty() {
        client.step().await;
    }
    assert!(matches!(client.user_events[0], UserEvent::UserBehind(_)));
    assert!(world.hub.metrics.bus_lag.get() > 0);
    assert_eq!(world.store.say(room), 70_001);
    client.read_to(room, 70_001).await;
}

#[tokio::test]
async fn a_handler_that_panics_ends_its_own_connection_alone() {
    let world = World::new();
    let mut other = world.connect(Codec::Json).await;
    let (server, client) = sockets().await;
    let taken = Taken { stream: server, early: Bytes::new() };
    world.hub.serve_socket(taken, Codec::Json, None, |_, _| panic!("a fault in a handler"));
    let mut peer = Peer::new(client);
    peer.send(0x81, b"x").await;
    assert!(matches!(peer.next().await, Got::Close(1011, _)));
    assert_eq!(peer.next().await, Got::Eof);
    other.command("session.ping", json!({})).await;
    assert!(matches!(other.peer.next().await, Got::Message(_)));
}

#[tokio::test]
async fn sockets_that_never_read_do_not_hold_up_one_that_does() {
    let world = World::new();
    let room = world.store.create();
    let mut asleep = Vec::new();
    for _ in 0..100 {
        let mut client = world.connect(Codec::Json).await;
        world.store.join(room, client.user_id);
        client.subscribe(room, None).await;
        asleep.push(client);
    }
    let mut awake = world.connect(Codec::Json).await;
    world.store.join(room, awake.user_id);
    awake.subscribe(room, None).await;
    for n in 1..=200 {
        world.store.append_entry(room, long(50_000), None, false);
        awake.read_to(room, n).await;
    }
    assert_eq!(awake.views[&room].behind, 0);
    assert!(world.hub.metrics.behind.get_or_create(&slow()).get() >= 100);
    let waiting = world.hub.metrics.sockets.queued_bytes.get();
    assert!(waiting < 101 * 400 * 1024, "{waiting} bytes for sockets that do not read");
}
