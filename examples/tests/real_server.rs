//! The examples, each run against the real server as a user would. Needs the server's binary: built in this
//! workspace, or named by `PARLOUR_BIN`. Without one the tests say so and pass, unless
//! `PARLOUR_TEST_REQUIRE_SERVER` is set.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{path::Path, process::Stdio, time::Duration};

use parlour_client::{
    Client, Room, RoomEvent, RoomItem, auth,
    protocol::{RoomId, object::Message},
    test_util::ServerProcess,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(60);
const PASSWORD: &str = "correct horse";

struct Scene {
    server: ServerProcess,
    room: Room,
    invite: String,
    _data: tempfile::TempDir,
}

/// A server, and Ada in a room of it.
async fn scene() -> Option<Scene> {
    let Some(binary) = ServerProcess::find_binary(Path::new(env!("CARGO_BIN_EXE_tail"))) else {
        assert!(std::env::var_os("PARLOUR_TEST_REQUIRE_SERVER").is_none(), "the server's binary is not built");
        eprintln!("skipped: the server's binary is not built (cargo build -p parlour-server)");
        return None;
    };
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(&binary, data.path(), &["log_level=warn"]).unwrap();
    auth::register(server.address(), "ada", PASSWORD, None).await.unwrap();
    let client = Client::builder(server.address()).log_in("ada", PASSWORD).connect().await.unwrap();
    let room = client.room(client.create_room("Tea").await.unwrap().room.room_id);
    let invite = room.create_invite().await.unwrap().invite_id.to_string();
    Some(Scene { server, room, invite, _data: data })
}

struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(binary: &str, scene: &Scene, name: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(binary)
            .args(["--server", scene.server.address(), "--name", name, "--password", PASSWORD])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take(), child, output }
    }

    async fn line_with(&mut self, text: &str) -> String {
        let found = async {
            loop {
                let line = self.output.next_line().await.unwrap().expect("the program goes on");
                if line.contains(text) {
                    return line;
                }
            }
        };
        timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("no line with {text:?}"))
    }

    async fn type_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn ends_well(mut self) {
        self.input = None;
        while self.output.next_line().await.unwrap().is_some() {}
        assert!(timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap().success());
    }
}

async fn next_message(events: &mut parlour_client::RoomEvents, text: &str) -> Message {
    let found = async {
        loop {
            if let RoomItem::Event(RoomEvent::Created { message, .. }) = events.next().await.unwrap()
                && message.message.contains(text)
            {
                return (*message).clone();
            }
        }
    };
    timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("no message with {text:?}"))
}

#[tokio::test]
async fn echo_bot_answers() {
    let Some(scene) = scene().await else { return };
    let mut events = scene.room.events();
    scene.room.subscribe().await.unwrap();
    let state = scene._data.path().join("echo.json");
    let arguments = ["--register", "--invite", &scene.invite, "--state", state.to_str().unwrap()];
    let mut bot = Program::start(env!("CARGO_BIN_EXE_echo_bot"), &scene, "echo", &arguments);
    bot.line_with("listening").await;
    next_message(&mut events, "joined").await;
    let asked = scene.room.send("!echo one & two").await.unwrap();
    let answer = next_message(&mut events, "one &amp; two").await;
    // The first is the question itself.
    let answer =
        if answer.row_key == asked.row_key { next_message(&mut events, "one &amp; two").await } else { answer };
    assert_eq!((answer.message.as_str(), answer.reply_row_key), ("one &amp; two", Some(asked.row_key)));

    bot.child.kill().await.unwrap();
    scene.room.send("!echo while away").await.unwrap();
    let mut bot = Program::start(env!("CARGO_BIN_EXE_echo_bot"), &scene, "echo", &arguments);
    bot.line_with("listening").await;
    next_message(&mut events, "!echo while away").await;
    next_message(&mut events, "while away").await;
    scene.room.send("!help").await.unwrap();
    next_message(&mut events, "<strong>!echo</strong>").await;
    let page = scene.room.history().limit(100).await.unwrap();
    let answers = page.items.iter().filter(|message| message.message == "one &amp; two").count();
    assert_eq!(answers, 1, "a restart answers nothing twice");
}

#[tokio::test]
async fn tail_prints_history_and_then_what_happens() {
    let Some(scene) = scene().await else { return };
    scene.room.send("before").await.unwrap();
    let room_id: RoomId = scene.room.id();
    let arguments = ["--room", &room_id.to_string(), "--lines", "1", "--count", "4"];
    let mut tail = Program::start(env!("CARGO_BIN_EXE_tail"), &scene, "ada", &arguments);
    let history: serde_json::Value = serde_json::from_str(&tail.line_with("history").await).unwrap();
    assert_eq!(history["message"]["message"], "before");
    let live = scene.room.send("live").await.unwrap();
    assert!(tail.line_with("created").await.contains("live"));
    scene.room.edit(live.row_key, "edited").await.unwrap();
    assert!(tail.line_with("changed").await.contains("edited"));
    scene.room.delete(live.row_key).await.unwrap();
    let deleted: serde_json::Value = serde_json::from_str(&tail.line_with("deleted").await).unwrap();
    assert_eq!(deleted["rowKey"], live.row_key.to_string());
    tail.ends_well().await;
}

#[tokio::test]
async fn terminal_chat_chats() {
    let Some(scene) = scene().await else { return };
    scene.room.send("welcome").await.unwrap();
    let mut events = scene.room.events();
    scene.room.subscribe().await.unwrap();
    let mut bob =
        Program::start(env!("CARGO_BIN_EXE_terminal_chat"), &scene, "bob", &["--register", "--invite", &scene.invite]);
    bob.line_with("ada: welcome").await;
    bob.type_line("hello **Ada**").await;
    let hello = next_message(&mut events, "<strong>Ada</strong>").await;
    bob.line_with("bob: hello Ada").await;
    scene.room.send("hi Bob").await.unwrap();
    bob.line_with("ada: hi Bob").await;
    bob.type_line("/edit hello all").await;
    bob.line_with("hello all (edited)").await;
    bob.type_line("/reply nice").await;
    assert!(next_message(&mut events, "nice").await.reply_row_key.is_some());
    bob.type_line("/me waves at _all_").await;
    next_message(&mut events, "<em>waves at <em>all</em></em>").await;
    bob.type_line("/shrug who *knows*").await;
    next_message(&mut events, r"who <em>knows</em> ¯\_(ツ)_/¯").await;
    bob.type_line("/unflip").await;
    next_message(&mut events, "┬─┬ノ( º _ ºノ)").await;
    bob.type_line("/poll Tea? | yes | no").await;
    bob.line_with("bob: Tea?").await;
    bob.line_with("- yes (0)").await;
    bob.type_line("/remind soon tea").await;
    bob.line_with("not a time").await;
    bob.type_line("/topic Cake").await;
    bob.line_with("! the server refused: forbidden").await;
    bob.type_line("/members").await;
    bob.line_with("ada, bob").await;
    bob.type_line("/nonsense").await;
    bob.line_with("/older").await;
    bob.type_line("/quit").await;
    bob.ends_well().await;
    let kept = scene.room.get_messages(vec![hello.row_key]).await.unwrap();
    assert!(kept.items[0].message.contains("hello all"));
}

#[tokio::test]
async fn webhook_poster_posts_each_line_once() {
    let Some(scene) = scene().await else { return };
    let mut events = scene.room.events();
    scene.room.subscribe().await.unwrap();
    let webhook = scene.room.create_webhook("Weather").await.unwrap();
    let url = webhook.url.unwrap().expose().to_owned();
    let url = if url.starts_with('/') { format!("{}{url}", scene.server.address()) } else { url };
    let mut poster = Command::new(env!("CARGO_BIN_EXE_webhook_poster"))
        .args(["--name", "Build bot", &url])
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = poster.stdin.take().unwrap();
    input.write_all(b"build 42 is **green**\n\nbuild 43 too\n").await.unwrap();
    drop(input);
    let first = next_message(&mut events, "<strong>green</strong>").await;
    assert_eq!(first.app_user.unwrap().name, "Build bot");
    next_message(&mut events, "build 43 too").await;
    assert!(timeout(PATIENCE, poster.wait()).await.unwrap().unwrap().success());
}

#[tokio::test]
async fn reminder_bot_reminds_and_forgets() {
    let Some(scene) = scene().await else { return };
    let mut events = scene.room.events();
    scene.room.subscribe().await.unwrap();
    let arguments = ["--register", "--invite", &scene.invite, "--zone", "Europe/Vienna"];
    let mut bot = Program::start(env!("CARGO_BIN_EXE_reminder_bot"), &scene, "reminder", &arguments);
    bot.line_with("listening").await;
    next_message(&mut events, "joined").await;
    scene.room.send("!remind soon tea").await.unwrap();
    next_message(&mut events, "not a time").await;
    scene.room.send("!remind in 2h take the *tea* out").await.unwrap();
    next_message(&mut events, ": noted.").await;
    scene.room.send("!reminders").await.unwrap();
    next_message(&mut events, ": take the *tea* out").await;
    scene.room.send("!forget 1").await.unwrap();
    next_message(&mut events, "Forgotten.").await;
    let asked = scene.room.send("!remind 1s the kettle").await.unwrap();
    let reminder = next_message(&mut events, "</span> the kettle").await;
    let ada = scene.room.client().user().unwrap().user_id.to_string();
    assert_eq!((reminder.mentions, reminder.reply_row_key), (vec![ada], Some(asked.row_key)));
    scene.room.send("!reminders").await.unwrap();
    next_message(&mut events, "Nothing is planned.").await;
}
