use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parlour_client::{
    Bot, Call, Client, ClientBuilder, Clock,
    test_util::{FakeServer, Fault},
};
use parlour_protocol::{DurableEvent, RoomId};
use tokio::task::JoinHandle;

fn echo(client: Client) -> Bot {
    Bot::new(client).command("echo", |call: Call| async move {
        call.reply(call.args()).await?;
        Ok(())
    })
}

async fn start(
    server: &FakeServer,
    change: impl FnOnce(ClientBuilder) -> ClientBuilder,
    bot: impl FnOnce(Client) -> Bot,
) -> (Client, JoinHandle<()>) {
    let client = change(server.client()).connect().await.unwrap();
    let running = bot(client.clone()).run();
    let task = tokio::spawn(async move { running.await.unwrap() });
    (client, task)
}

/// Waits, in virtual time, until the server has as many messages.
async fn has(server: &FakeServer, room_id: RoomId, count: usize) -> Vec<String> {
    for _ in 0..60_000 {
        let messages = server.messages(room_id);
        if messages.len() >= count {
            return messages.into_iter().map(|message| message.message).collect();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?}", server.messages(room_id));
}

async fn in_room(server: &FakeServer, rooms: usize) {
    for _ in 0..60_000 {
        let asked: usize = server
            .received_of("room.subscribe")
            .iter()
            .map(|frame| frame.data["rooms"].as_array().unwrap().len())
            .sum();
        if asked >= rooms {
            return tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the bot does not come");
}

#[tokio::test(start_paused = true)]
async fn a_bot_answers_commands_and_not_itself_nor_what_was_before_it() {
    let server = FakeServer::new();
    let room_id = server.create_room();
    server.post(room_id, "!echo before");
    let (client, task) = start(&server, |builder| builder, echo).await;
    in_room(&server, 1).await;
    server.post(room_id, "!echo !echo hello &amp; goodbye");
    server.post(room_id, "nothing for a bot");
    server.post(room_id, "!unknown");
    let truth = has(&server, room_id, 5).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(truth[4], "!echo hello & goodbye");
    let answer = server.messages(room_id).pop().unwrap();
    assert_eq!(answer.reply_row_key, Some(server.messages(room_id)[1].row_key));
    assert_eq!(server.messages(room_id).len(), 5);
    client.close().await;
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_bot_survives_reconnects_and_answers_what_came_meanwhile_once() {
    let server = FakeServer::new();
    let room_id = server.create_room();
    let (client, _task) = start(&server, |builder| builder, echo).await;
    in_room(&server, 1).await;
    for round in 0..10 {
        server.refuse_dials(round % 3);
        server.cut();
        server.post(room_id, &format!("!echo {round}"));
        has(&server, room_id, (round + 1) * 2).await;
    }
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(server.messages(room_id).len(), 20);
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_bot_does_not_answer_twice_after_a_crash_in_mid_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bot.json");
    let server = FakeServer::new();
    let room_id = server.create_room();
    let (client, task) = start(&server, |builder| builder, |client| echo(client).state_file(&path)).await;
    in_room(&server, 1).await;
    server.post(room_id, "!echo one");
    has(&server, room_id, 2).await;
    // The answer is stored, and the bot dies before it hears of that.
    server.script("message.send", Fault::LoseReply);
    server.post(room_id, "!echo two");
    has(&server, room_id, 4).await;
    task.abort();
    client.close_within(Duration::ZERO).await;
    server.post(room_id, "!echo three");

    let (client, _task) = start(&server, |builder| builder, |client| echo(client).state_file(&path)).await;
    has(&server, room_id, 6).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let truth: Vec<_> = server.messages(room_id).into_iter().map(|message| message.message).collect();
    assert_eq!(truth, ["!echo one", "one", "!echo two", "two", "!echo three", "three"]);
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_bot_that_cannot_keep_up_leaves_nothing_out() {
    let server = FakeServer::new();
    let room_id = server.create_room();
    let slow = |client: Client| {
        Bot::new(client).backlog(1000).command("echo", |call: Call| async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            call.reply(call.args()).await?;
            Ok(())
        })
    };
    let (client, _task) = start(&server, |builder| builder.event_capacity(8), slow).await;
    in_room(&server, 1).await;
    for number in 0..150 {
        server.post(room_id, &format!("!echo {number}"));
    }
    has(&server, room_id, 300).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let answers: Vec<_> = server
        .messages(room_id)
        .into_iter()
        .map(|message| message.message)
        .filter(|text| !text.starts_with('!'))
        .collect();
    assert_eq!(answers, crate::harness::numbers(0..150), "in order, each once");
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn one_message_of_a_room_is_handled_at_a_time_and_rooms_do_not_wait_for_each_other() {
    let server = FakeServer::new();
    let rooms = [server.create_room(), server.create_room()];
    let (at_work, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let bot = move |client: Client| {
        Bot::new(client).on_message(move |call: Call| {
            let (at_work, most) = (Arc::clone(&at_work), Arc::clone(&most));
            async move {
                most.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                at_work.fetch_sub(1, Ordering::SeqCst);
                call.send("done").await?;
                Ok(())
            }
        })
    };
    let (client, _task) = start(&server, |builder| builder, bot).await;
    in_room(&server, 2).await;
    for room_id in rooms {
        server.post(room_id, "a");
        server.post(room_id, "b");
    }
    for room_id in rooms {
        has(&server, room_id, 4).await;
    }
    assert_eq!(seen.load(Ordering::SeqCst), 2);
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_bot_enters_the_rooms_that_it_is_added_to_and_hears_its_name() {
    let server = FakeServer::new();
    let bot = |client: Client| {
        Bot::new(client).on_mention(|call: Call| async move {
            call.reply("yes?").await?;
            Ok(())
        })
    };
    let (client, _task) = start(&server, |builder| builder, bot).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let room_id = server.create_room();
    server.announce(room_id);
    in_room(&server, 1).await;
    let me = server.user().to_string();
    server.change(room_id, |room| {
        let mut entry = room.create(server.other(), "@Ada", None, None);
        let DurableEvent::MessageCreated(created) = &mut entry.event else { panic!() };
        created.message.mentions = vec![me.clone()];
        Some(entry)
    });
    assert_eq!(has(&server, room_id, 2).await, ["@Ada", "yes?"]);
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_or_panics_does_not_end_the_bot() {
    let server = FakeServer::new();
    let room_id = server.create_room();
    let bot = |client: Client| {
        echo(client)
            .command("panic", |_| async move { panic!("on purpose") })
            .command("fail", |_| async move { Err(std::io::Error::other("on purpose").into()) })
    };
    let (client, _task) = start(&server, |builder| builder, bot).await;
    in_room(&server, 1).await;
    for text in ["!panic", "!fail", "!echo still here"] {
        server.post(room_id, text);
    }
    assert_eq!(has(&server, room_id, 4).await[3], "still here");
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_bot_takes_slash_commands_and_says_what_is_wrong_with_one() {
    let server = FakeServer::new();
    let room_id = server.create_room();
    let clock = Clock::in_zone("Europe/Vienna").unwrap();
    let bot = |client| Bot::new(client).slash(["roll", "me", "remind", "unknown"], &clock);
    let (client, _task) = start(&server, |builder| builder, bot).await;
    in_room(&server, 1).await;
    for (asked, answer) in [
        ("!me waves at @everyone", "_waves at \\@everyone_"),
        ("!roll twice", "usage: /roll"),
        (
            "!remind soon tea",
            "not a time; try \"in 2h\", \"tomorrow 9am\", \"next friday 14:30\" or \"2026-12-24 09:00\"",
        ),
        // The scripted server plans nothing.
        ("!remind in 2h tea", "That cannot be done: schedule.message"),
    ] {
        let before = server.messages(room_id).len();
        server.post(room_id, asked);
        assert_eq!(has(&server, room_id, before + 2).await[before + 1], answer, "{asked}");
        let messages = server.messages(room_id);
        assert_eq!(messages[before + 1].reply_row_key, Some(messages[before].row_key), "{asked}");
    }
    server.post(room_id, "!roll");
    let number: u8 = has(&server, room_id, 10).await[9].parse().unwrap();
    assert!((1..=100).contains(&number));
    server.post(room_id, "!topic Tea");
    server.post(room_id, "!unknown");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(server.messages(room_id).len(), 12, "only what it was told to take");
    let planned = &server.received_of("schedule.message")[0].data;
    assert_eq!(planned["message"], format!("<@{}> tea", server.other()));
    client.close().await;
}
