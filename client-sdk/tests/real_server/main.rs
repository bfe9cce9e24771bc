//! The client against the real server: killed in mid-traffic, restarted, drained. Needs its binary: built in
//! this workspace, or named by `PARLOUR_BIN`. Without one the tests say so and pass, unless
//! `PARLOUR_TEST_REQUIRE_SERVER` is set.
//!
//! - here: what must hold whatever happens to the server
//! - `rooms`: roles, moderation, filter, search, forwards, emoji, pictures, thumbnails
//! - `people`: direct messages, accounts
//! - `postgres`: a database that is restarted in mid-traffic

#![expect(clippy::unwrap_used, reason = "tests")]

mod harness;
mod people;
mod postgres;
mod rooms;

use std::{collections::HashSet, time::Duration};

use parlour_client::{
    Client, ClientEvent, RoomEvent, RoomEvents, RoomItem, StatusChange, auth,
    protocol::{
        RoomId,
        object::{Message, PresenceStatus},
    },
};
use tokio::{task::JoinSet, time::timeout};

use self::harness::{PATIENCE, Real, pair};

/// Subscribes a room; what is written from then on is among the events.
async fn listen(client: &Client, room_id: RoomId) -> RoomEvents {
    let room = client.room(room_id);
    let events = room.events();
    room.subscribe().history(0).await.unwrap();
    events
}

/// Collects the texts that appear in a room until all wanted have come, and checks that none comes twice.
async fn collect(mut events: RoomEvents, wanted: usize) -> Vec<Message> {
    let mut seen = HashSet::new();
    let mut messages = Vec::new();
    while messages.len() < wanted {
        match events.next().await.unwrap() {
            RoomItem::Event(RoomEvent::Created { message, .. }) if message.r#type.is_markup() => {
                assert!(seen.insert(message.row_key), "{} came twice", message.message);
                messages.push((*message).clone());
            }
            RoomItem::Event(RoomEvent::Reset) => panic!("too much was missed"),
            RoomItem::Event(_) => {}
            RoomItem::Lagged(count) => panic!("{count} events were dropped"),
        }
    }
    messages
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_chat() {
    let Some(real) = Real::start(&[]) else { return };
    let (ada, bob, room_id) = pair(&real).await;
    let reader = tokio::spawn(collect(listen(&bob, room_id).await, 3));
    let room = ada.room(room_id);
    room.subscribe().await.unwrap();
    let first = room.send("hello <all>").await.unwrap();
    assert_eq!(first.message, "hello &lt;all&gt;");
    room.send("**bold**").markdown().reply_to(first.row_key).await.unwrap();
    room.edit(first.row_key, "edited").rev(first.rev).await.unwrap();
    room.send("end").await.unwrap();
    let read = timeout(PATIENCE, reader).await.unwrap().unwrap();
    assert_eq!(read[1].reply_row_key, Some(first.row_key));
    let page = room.history().limit(10).await.unwrap();
    assert!(page.items.iter().any(|message| message.message == "edited" && message.is_edited));
    room.delete(first.row_key).await.unwrap();
    assert_eq!(room.members().await.unwrap().len(), 2);
    let timeline = room.timeline().await.unwrap();
    assert!(timeline.messages.iter().all(|message| message.row_key != first.row_key) || !timeline.is_live);
    assert_eq!(ada.close().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_in_mid_traffic_loses_doubles_and_reorders_nothing() {
    let Some(mut real) = Real::start(&["rates.standard.points=1000000", "rates.auth.points=1000"]) else { return };
    survive(&mut real, Order::Kept, async |real| {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(150)).await;
            real.process.kill().unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            real.process.restart().unwrap();
        }
    })
    .await;
}

/// What becomes of the order of one writer's messages.
#[derive(PartialEq, Eq)]
enum Order {
    Kept,
    /// One that was refused is repeated, and may find that those behind it were stored meanwhile.
    MayChange,
}

/// Traffic of which a disturbance loses and doubles nothing.
async fn survive(real: &mut Real, order: Order, disturb: impl AsyncFnOnce(&mut Real)) {
    const MESSAGES: usize = 600;
    let (ada, bob, room_id) = pair(real).await;
    let reader = tokio::spawn(collect(listen(&bob, room_id).await, MESSAGES));
    let room = ada.room(room_id);
    room.subscribe().history(0).await.unwrap();
    let writer = tokio::spawn(async move {
        let mut under_way = JoinSet::new();
        for number in 0..MESSAGES {
            let queued = room.send(number.to_string()).queue().await.unwrap();
            under_way.spawn(async move { (number, queued.await.unwrap().message) });
            if number % 20 == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        let mut stored = under_way.join_all().await;
        stored.sort_by_key(|(number, _)| *number);
        stored
    });
    disturb(real).await;
    let stored = timeout(PATIENCE * 2, writer).await.unwrap().unwrap();
    let mut read = timeout(PATIENCE * 2, reader).await.unwrap().unwrap();
    let expected: Vec<_> = (0..MESSAGES).map(|number| number.to_string()).collect();
    let in_order: Vec<_> = read.iter().map(|message| message.message.clone()).collect();
    assert!(read.is_sorted_by_key(|message| message.seq));
    if order == Order::MayChange {
        read.sort_by_key(|message| message.message.parse::<usize>().unwrap());
    }
    let texts: Vec<_> = read.iter().map(|message| message.message.clone()).collect();
    assert_eq!(texts, expected, "everything once and in order");
    for ((number, stored), read) in stored.iter().zip(&read) {
        assert_eq!((stored.row_key, stored.seq), (read.row_key, read.seq), "{number} is where it was acknowledged");
    }
    let mut newest = Vec::new();
    let mut cursor = None;
    loop {
        let history = ada.room(room_id).history().limit(200);
        let page = match cursor {
            Some(cursor) => history.before(cursor),
            None => history,
        }
        .await
        .unwrap();
        cursor = page.items.last().map(|message| message.row_key);
        newest.extend(page.items.into_iter().filter(|message| message.r#type.is_markup()).map(|held| held.message));
        if !page.has_more {
            break;
        }
    }
    newest.reverse();
    assert_eq!(newest, in_order, "the store holds it so");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_told() {
    let Some(real) = Real::start(&[]) else { return };
    auth::register(real.process.address(), "ada", "correct horse", None).await.unwrap();
    let error = Client::builder(real.process.address()).log_in("ada", "wrong horse").connect().await.unwrap_err();
    assert_eq!(error.kind(), parlour_client::ConnectErrorKind::Unauthenticated);
}

#[tokio::test]
async fn an_https_address_without_tls_behind_it_cannot_be_reached() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let refusing = tokio::spawn(async move {
        loop {
            drop(listener.accept().await);
        }
    });
    let builder = Client::builder(address).token("token").connect_deadline(Duration::from_secs(2));
    let error = builder.connect().await.unwrap_err();
    assert_eq!(error.kind(), parlour_client::ConnectErrorKind::DeadlinePassed);
    refusing.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_a_room_ends_its_subscription() {
    let Some(real) = Real::start(&[]) else { return };
    let (_ada, bob, room_id) = pair(&real).await;
    let room = bob.room(room_id);
    let mut events = bob.events();
    room.subscribe().await.unwrap();
    room.leave().await.unwrap();
    let ended = async {
        loop {
            if let ClientEvent::Room { event: RoomEvent::Ended(_), .. } = events.next().await.unwrap() {
                return;
            }
        }
    };
    timeout(PATIENCE, ended).await.unwrap();
    assert!(room.subscribe().await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_surrounds_messages_reaches_the_other_timeline() {
    let Some(real) = Real::start(&[]) else { return };
    let (ada, bob, room_id) = pair(&real).await;
    let (one, two) = (ada.room(room_id), bob.room(room_id));
    one.subscribe().await.unwrap();
    two.subscribe().await.unwrap();
    let poll = one.send_poll("Tea at four?", ["yes", "no"]).await.unwrap();
    let yes = poll.poll.as_ref().unwrap().options[0].id;
    two.vote(poll.row_key, yes).await.unwrap();
    one.react(poll.row_key, "👍").await.unwrap();
    two.react(poll.row_key, "👍").await.unwrap();
    one.pin(poll.row_key).await.unwrap();
    let done = one.send("done").reply_to(poll.row_key).await.unwrap();
    let message = timeout(PATIENCE, async {
        let mut events = two.events();
        while two.message(done.row_key).await.unwrap().is_none() {
            timeout(Duration::from_millis(200), events.next()).await.ok();
        }
        two.message(poll.row_key).await.unwrap().unwrap()
    });
    let message = message.await.unwrap();
    let counts = |message: &Message| {
        let reactions = message.reactions.iter().map(|reaction| (reaction.emoji.clone(), reaction.count));
        let votes = message.poll.as_ref().unwrap().options.iter().map(|option| option.count);
        (reactions.collect::<Vec<_>>(), votes.collect::<Vec<_>>(), message.is_pinned)
    };
    assert_eq!(counts(&message), (vec![("👍".to_owned(), 2)], vec![1, 0], true));
    let read = two.get_messages(vec![poll.row_key]).await.unwrap();
    assert_eq!(counts(&read.items[0]), counts(&message), "the timeline is the server's truth");
    assert_eq!(one.pinned().await.unwrap().len(), 1);
    assert_eq!(one.reactions(poll.row_key).await.unwrap().len(), 2);
    assert_eq!(two.thread(poll.row_key, None, 10).await.unwrap().items.len(), 1);

    // Files, there and back.
    let bytes: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let upload = one.upload("tea.bin", "application/octet-stream", bytes.clone().into()).await.unwrap();
    let sent = one.send("the menu").file(upload.file_id).await.unwrap();
    let download = two.download(sent.row_key, upload.file_id).await.unwrap();
    assert_eq!(download.bytes(1_000_000).await.unwrap(), bytes);
    let webhook = one.create_webhook("Weather").await.unwrap();
    assert!(webhook.url.is_some());

    // People.
    let (ada_id, bob_id) = (ada.user().unwrap().user_id, bob.user().unwrap().user_id);
    ada.request_friend_named("bob").await.unwrap();
    assert_eq!(bob.friends().await.unwrap().1.len(), 1);
    bob.accept_friend(ada_id).await.unwrap();
    let direct = ada.open_direct_message(vec![bob_id]).await.unwrap();
    assert_eq!(bob.direct_messages().await.unwrap()[0].room.room_id, direct.room.room_id);
    ada.room(direct.room.room_id).send("hello").await.unwrap();
    ada.set_status(StatusChange::show(PresenceStatus::Idle).message("at tea")).await.unwrap();
    assert_eq!(bob.statuses(vec![ada_id]).await.unwrap()[0].message, "at tea");
    bob.block(ada_id).await.unwrap();
    assert!(ada.room(direct.room.room_id).send("hello?").await.is_err());
    assert_eq!(bob.blocked().await.unwrap().len(), 1);
}
