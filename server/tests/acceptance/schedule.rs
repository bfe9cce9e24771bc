//! Scheduled messages and reminders: at their time, once, or not at all.

use std::collections::HashMap;

use parlour_protocol::Timestamp;
use serde_json::{Value, json};

use crate::harness::{Client, Server, User, items, nonce};

const HOUR: i64 = 3_600_000;

/// An instant from now, in ms.
fn from_now(millis: i64) -> String {
    Timestamp::now().plus_millis(millis).to_string()
}

fn message(room: &str, millis: i64, text: &str) -> Value {
    json!({ "roomId": room, "runAt": from_now(millis), "message": text, "nonce": nonce() })
}

async fn schedule(client: &mut Client, data: Value) -> Value {
    client.ok("schedule.message", data).await["job"].clone()
}

/// The next event that tells of a job in a state.
async fn told(client: &mut Client, job: &Value, state: &str) -> Value {
    loop {
        let told = client.event("job.updated").await["data"]["job"].clone();
        if told["jobId"] == job["jobId"] && told["state"] == state {
            return told;
        }
    }
}

async fn count(client: &mut Client) -> u64 {
    client.ok("schedule.count", json!({})).await["count"].as_u64().unwrap_or(0)
}

async fn texts(client: &mut Client, room: &str) -> Vec<String> {
    let page = client.ok("message.list", json!({ "roomId": room, "limit": 100 })).await;
    let messages = items(&page).iter().filter(|message| message["type"] == "Message");
    messages.map(|message| message["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn s_108_a_job_is_listed_counted_and_told_to_its_owner_alone() {
    let server = Server::shared().await;
    let (room, (ada, mut owner), (_, mut member)) = server.two_in_a_room().await;
    let mut other_device = Client::of(&server, &ada).await;
    let data = json!({ "roomId": room, "runAt": from_now(2 * HOUR), "message": "later", "format": "Markdown", "nonce": nonce() });
    let job = schedule(&mut owner, data.clone()).await;
    assert_eq!(job["payload"], json!({ "type": "ScheduledMessage", "message": "later", "format": "Markdown" }));
    assert_eq!((&job["state"], &job["roomId"], &job["userId"]), (&json!("Active"), &json!(room), &json!(ada.id)));
    assert_eq!(owner.event("job.updated").await["data"]["job"], job);
    assert_eq!(other_device.event("job.updated").await["data"]["job"], job);
    assert_eq!(schedule(&mut owner, data).await, job, "the same nonce is the same job");
    let reminder = json!({ "roomId": room, "runAt": from_now(HOUR), "text": "<b>tea</b>", "nonce": nonce() });
    let reminder = owner.ok("schedule.reminder", reminder).await["job"].clone();
    assert_eq!(reminder["payload"], json!({ "type": "Reminder", "text": "<b>tea</b>" }));
    let listed = owner.ok("schedule.list", json!({ "roomId": room })).await;
    assert_eq!(items(&listed), [reminder.clone(), job.clone()], "the next one first");
    let page = owner.ok("schedule.mine", json!({ "limit": 1 })).await;
    assert_eq!(items(&page)[0]["job"], reminder);
    assert_eq!(items(&page)[0]["room"]["roomId"], json!(room));
    let rest = owner.ok("schedule.mine", json!({ "limit": 1, "cursor": page["nextCursor"] })).await;
    assert_eq!((&items(&rest)[0]["job"], rest.get("hasMore")), (&job, None));
    assert_eq!(count(&mut owner).await, 2);
    assert!(items(&member.ok("schedule.list", json!({ "roomId": room })).await).is_empty());
    assert_eq!(count(&mut member).await, 0);
    assert!(member.settled_names().await.iter().all(|name| name != "job.updated"));
}

#[tokio::test]
async fn s_109_who_is_not_in_the_room_schedules_and_lists_nothing() {
    let server = Server::shared().await;
    let (room, _, _) = server.two_in_a_room().await;
    let (_, mut stranger) = server.client("Eve").await;
    assert_eq!(stranger.refused("schedule.message", message(&room, HOUR, "x")).await, "forbidden");
    let reminder = json!({ "roomId": room, "runAt": from_now(HOUR), "text": "x" });
    assert_eq!(stranger.refused("schedule.reminder", reminder).await, "forbidden");
    assert_eq!(stranger.refused("schedule.list", json!({ "roomId": room })).await, "forbidden");
}

#[tokio::test]
async fn s_110_ones_own_job_is_cancelled_and_nobody_elses() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut member)) = server.two_in_a_room().await;
    let job = schedule(&mut owner, message(&room, HOUR, "never")).await;
    let id = json!({ "jobId": job["jobId"] });
    for op in ["schedule.cancel", "schedule.sendNow"] {
        assert_eq!(member.refused(op, id.clone()).await, "not_found");
    }
    let foreign = json!({ "jobId": job["jobId"], "message": "mine now" });
    assert_eq!(member.refused("schedule.reschedule", foreign).await, "not_found");
    let cancelled = owner.ok("schedule.cancel", id.clone()).await["job"].clone();
    assert_eq!(cancelled["state"], "Cancelled");
    assert!(cancelled["cancelledAt"].is_string());
    assert_eq!(told(&mut owner, &job, "Cancelled").await, cancelled);
    assert_eq!(owner.ok("schedule.cancel", id.clone()).await["job"], cancelled, "again is no harm");
    assert_eq!(owner.refused("schedule.sendNow", id.clone()).await, "not_found");
    let change = json!({ "jobId": job["jobId"], "message": "again" });
    assert_eq!(owner.refused("schedule.reschedule", change).await, "not_found");
    assert_eq!(count(&mut owner).await, 0);
}

#[tokio::test]
async fn s_112_a_message_sent_at_once_passes_the_gate_first() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut member)) = server.two_in_a_room().await;
    let job = schedule(&mut member, message(&room, HOUR, "soon")).await;
    let send = json!({ "jobId": job["jobId"], "nonce": nonce() });
    owner.ok("room.update", json!({ "roomId": room, "isReadOnly": true })).await;
    assert_eq!(member.refused("schedule.sendNow", send.clone()).await, "read_only");
    assert_eq!(count(&mut member).await, 1, "the job stays");
    owner.ok("room.update", json!({ "roomId": room, "isReadOnly": false })).await;
    owner.subscribe(&room).await;
    let sent = member.ok("schedule.sendNow", send.clone()).await;
    assert_eq!((&sent["job"]["state"], &sent["message"]["message"]), (&json!("Completed"), &json!("soon")));
    assert_eq!(sent["job"]["rowKey"], sent["message"]["rowKey"]);
    assert_eq!(owner.event("message.created").await["data"]["message"]["rowKey"], sent["message"]["rowKey"]);
    assert_eq!(told(&mut member, &job, "Completed").await["attempts"], 1);
    let again = member.ok("schedule.sendNow", send).await;
    assert_eq!((&again["job"], &again["message"]), (&sent["job"], &sent["message"]), "the same command");
    for op in ["schedule.sendNow", "schedule.cancel"] {
        assert_eq!(member.refused(op, json!({ "jobId": job["jobId"] })).await, "conflict");
    }
    assert_eq!(count(&mut member).await, 0, "s_111: what is done is not listed");
    assert_eq!(texts(&mut owner, &room).await, ["soon"]);
    let reminder = json!({ "roomId": room, "runAt": from_now(HOUR), "text": "x" });
    let reminder = member.ok("schedule.reminder", reminder).await["job"]["jobId"].clone();
    assert_eq!(member.refused("schedule.sendNow", json!({ "jobId": reminder })).await, "bad_request");
    let change = json!({ "jobId": reminder, "runAt": from_now(2 * HOUR) });
    assert_eq!(member.refused("schedule.reschedule", change).await, "bad_request");
}

#[tokio::test]
async fn s_113_a_filtered_word_cancels_what_is_sent_at_once() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut member)) = server.two_in_a_room().await;
    let job = schedule(&mut member, message(&room, HOUR, "some spam")).await;
    let filter = json!({ "roomId": room, "words": [{ "word": "spam" }], "action": "Warn" });
    owner.ok("filter.set", filter).await;
    assert_eq!(member.refused("schedule.message", message(&room, HOUR, "spam")).await, "word_filtered");
    let send = json!({ "jobId": job["jobId"] });
    assert_eq!(member.refused("schedule.sendNow", send.clone()).await, "word_filtered");
    let cancelled = told(&mut member, &job, "Cancelled").await;
    assert_eq!(cancelled["lastError"]["code"], "word_filtered");
    assert_eq!(member.refused("schedule.sendNow", send).await, "not_found");
    assert_eq!(count(&mut member).await, 0);
    let log = owner.ok("moderation.log", json!({ "roomId": room })).await;
    assert_eq!(items(&log).len(), 2, "one warning for each: {log}");
    assert!(texts(&mut owner, &room).await.is_empty());
}

#[tokio::test]
async fn s_119_a_reminder_is_given_at_its_time_and_posts_nothing() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut member)) = server.two_in_a_room().await;
    member.subscribe(&room).await;
    let data = json!({ "roomId": room, "runAt": from_now(300), "text": "tea", "nonce": nonce() });
    let job = owner.ok("schedule.reminder", data).await["job"].clone();
    let done = told(&mut owner, &job, "Completed").await;
    assert_eq!(done["payload"]["text"], "tea");
    assert!(done["completedAt"].as_str() >= job["runAt"].as_str());
    assert!(member.is_quiet().await);
    assert_eq!(count(&mut owner).await, 0);
}

#[tokio::test]
async fn s_120_a_message_is_posted_at_its_time_as_a_reply_with_its_mentions() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (bob, mut member)) = server.two_in_a_room().await;
    let root = member.say(&room, "root").await["rowKey"].clone();
    member.subscribe(&room).await;
    let mut data = message(
        &room,
        300,
        &format!(r#"hi <span data-type="mention" data-mention-type="user" data-id="{}">@Bob</span>"#, bob.id),
    );
    data["format"] = json!("Html");
    data["replyRowKey"] = root.clone();
    let job = schedule(&mut owner, data).await;
    let posted = member.event("message.created").await["data"]["message"].clone();
    assert_eq!((&posted["replyRowKey"], &posted["userId"]), (&root, &job["userId"]));
    assert_eq!(posted["mentions"], json!([bob.id]));
    assert_eq!(posted.get("nonce"), None, "nobody's");
    let done = told(&mut owner, &job, "Completed").await;
    assert_eq!(done["rowKey"], posted["rowKey"]);
    assert!(posted["createdAt"].as_str() >= job["runAt"].as_str(), "not before its time");
    let view = member.ok("membership.get", json!({ "roomIds": [room] })).await;
    assert_eq!((&items(&view)[0]["unreadCount"], &items(&view)[0]["mentionCount"]), (&json!(1), &json!(1)));
    let unknown = json!("9".repeat(30));
    let mut data = message(&room, HOUR, "re");
    data["replyRowKey"] = unknown;
    assert_eq!(owner.refused("schedule.message", data).await, "not_found");
}

#[tokio::test]
async fn s_122_a_filtered_word_at_its_time_cancels_with_one_action() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (bob, mut member)) = server.two_in_a_room().await;
    let job = schedule(&mut member, message(&room, 1500, "some spam")).await;
    let filter =
        json!({ "roomId": room, "words": [{ "word": "spam" }], "action": "Timeout", "timeoutDurationMs": 60_000 });
    owner.ok("filter.set", filter).await;
    let cancelled = told(&mut member, &job, "Cancelled").await;
    assert_eq!(cancelled["lastError"]["code"], "word_filtered");
    assert_eq!(member.event("moderation.action").await["data"]["type"], "TimeoutUser");
    assert_eq!(member.refused("message.send", json!({ "roomId": room, "message": "x" })).await, "timed_out");
    let log = owner.ok("moderation.log", json!({ "roomId": room })).await;
    assert_eq!(items(&log).len(), 1);
    assert_eq!(items(&log)[0]["targetUserId"], json!(bob.id));
    assert!(texts(&mut owner, &room).await.is_empty());
}

#[tokio::test]
async fn s_123_who_left_the_room_is_told_why_nothing_is_posted() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut member)) = server.two_in_a_room().await;
    let job = schedule(&mut member, message(&room, 1500, "too late")).await;
    member.ok("room.leave", json!({ "roomId": room })).await;
    let refused = told(&mut member, &job, "Active").await;
    let refused = if refused.get("lastError").is_some() { refused } else { told(&mut member, &job, "Active").await };
    assert_eq!((&refused["lastError"]["code"], &refused["attempts"]), (&json!("forbidden"), &json!(1)));
    assert_eq!(refused.get("failedAt"), None, "it is tried again");
    let mine = member.ok("schedule.mine", json!({})).await;
    assert_eq!(items(&mine)[0]["job"]["jobId"], job["jobId"]);
    assert_eq!(items(&mine)[0]["room"].get("name"), None, "of a room that one left no more is told");
    assert!(texts(&mut owner, &room).await.is_empty());
    let cancelled = member.ok("schedule.cancel", json!({ "jobId": job["jobId"] })).await;
    assert_eq!(cancelled["job"]["state"], "Cancelled");
}

#[tokio::test]
async fn s_126_a_changed_job_takes_the_place_of_the_old_one() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut member)) = server.two_in_a_room().await;
    let root = owner.say(&room, "root").await["rowKey"].clone();
    let mut data = message(&room, HOUR, "old");
    data["replyRowKey"] = root;
    let old = schedule(&mut owner, data).await;
    let later = from_now(3 * HOUR);
    let change = json!({ "jobId": old["jobId"], "runAt": later, "message": "new", "nonce": nonce() });
    let new = owner.ok("schedule.reschedule", change.clone()).await["job"].clone();
    assert_ne!(new["jobId"], old["jobId"]);
    assert_eq!((&new["runAt"], &new["payload"]["message"]), (&json!(later), &json!("new")));
    assert_eq!(new["payload"]["replyRowKey"], old["payload"]["replyRowKey"]);
    assert_eq!(owner.ok("schedule.reschedule", change).await["job"], new, "the same command");
    told(&mut owner, &old, "Cancelled").await;
    assert_eq!(told(&mut owner, &new, "Active").await, new);
    assert_eq!(count(&mut owner).await, 1);
    let again = json!({ "jobId": old["jobId"], "message": "x" });
    assert_eq!(owner.refused("schedule.reschedule", again).await, "not_found");
    assert_eq!(owner.refused("schedule.reschedule", json!({ "jobId": new["jobId"] })).await, "bad_request");
    let other = member.room("Coffee").await;
    let there = json!({ "jobId": new["jobId"], "roomId": other });
    assert_eq!(owner.refused("schedule.reschedule", there.clone()).await, "forbidden");
    let plain = json!({ "jobId": new["jobId"], "replyRowKey": null });
    let plain = owner.ok("schedule.reschedule", plain).await["job"].clone();
    assert_eq!(plain["payload"].get("replyRowKey"), None);
    assert_eq!(plain["runAt"], new["runAt"], "what is not named stays");
    owner.ok("schedule.sendNow", json!({ "jobId": plain["jobId"] })).await;
    let done = json!({ "jobId": plain["jobId"], "message": "x" });
    assert_eq!(owner.refused("schedule.reschedule", done).await, "conflict");
}

#[tokio::test]
async fn a_time_that_is_past_or_far_away_is_refused() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    for millis in [-70_000, 367 * 24 * HOUR] {
        let error = owner.error("schedule.message", message(&room, millis, "x")).await;
        assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!("/runAt")), "{error}");
    }
    let job = schedule(&mut owner, message(&room, -50_000, "a moment ago is now")).await;
    told(&mut owner, &job, "Completed").await;
    schedule(&mut owner, message(&room, 365 * 24 * HOUR, "in a year")).await;
    assert_eq!(owner.refused("schedule.message", message(&room, HOUR, "  \n ")).await, "bad_request");
}

#[tokio::test]
async fn slowmode_is_checked_and_not_moved_when_a_message_is_scheduled() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut member)) = server.two_in_a_room().await;
    owner.ok("room.update", json!({ "roomId": room, "slowmodeMs": 3_600_000 })).await;
    schedule(&mut member, message(&room, HOUR, "one")).await;
    let job = schedule(&mut member, message(&room, HOUR, "two")).await;
    member.ok("schedule.sendNow", json!({ "jobId": job["jobId"] })).await;
    let error = member.error("schedule.message", message(&room, HOUR, "three")).await;
    assert_eq!(error["code"], "slowmode");
    assert!(error["retryAfterMs"].as_u64().unwrap() > 3_500_000);
    owner.ok("schedule.message", message(&room, HOUR, "owners are exempt")).await;
}

#[tokio::test]
async fn jobs_go_with_their_room() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut member)) = server.two_in_a_room().await;
    let job = schedule(&mut member, message(&room, HOUR, "x")).await;
    owner.ok("room.delete", json!({ "roomId": room })).await;
    assert_eq!(count(&mut member).await, 0);
    assert_eq!(member.refused("schedule.cancel", json!({ "jobId": job["jobId"] })).await, "not_found");
}

#[tokio::test]
async fn a_killed_server_posts_what_became_due_meanwhile_once() {
    let server = Server::with(&[]).await;
    let ada = server.user("Ada").await;
    let mut owner = Client::of(&server, &ada).await;
    let room = owner.room("Tea").await;
    for number in 0..60 {
        schedule(&mut owner, message(&room, 400, &format!("job {number}"))).await;
    }
    let reminder = json!({ "roomId": room, "runAt": from_now(400), "text": "tea" });
    owner.ok("schedule.reminder", reminder).await;
    owner.event("job.updated").await;
    // Some of them are done, some are under way, some wait.
    told_any(&mut owner, "Completed").await;
    server.restart().await;
    let mut owner = Client::of(&server, &ada).await;
    // A claim that the killed server left behind ends after a minute.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(90);
    while count(&mut owner).await > 0 {
        assert!(std::time::Instant::now() < deadline, "a job is stuck");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    for text in texts(&mut owner, &room).await {
        *seen.entry(text).or_default() += 1;
    }
    assert_eq!(seen.len(), 60, "{seen:?}");
    assert!(seen.values().all(|count| *count == 1), "{seen:?}");
}

async fn told_any(client: &mut Client, state: &str) {
    while client.event("job.updated").await["data"]["job"]["state"] != state {}
}

/// Races of a job's time with what its owner does at that very moment.
#[tokio::test]
async fn bl_101_a_change_at_the_very_moment_posts_the_old_text_or_the_new_one_once() {
    let server = Server::with(&[]).await;
    let ada = server.user("Ada").await;
    let mut owner = Client::of(&server, &ada).await;
    let room = owner.room("Tea").await;
    let mut expected: Vec<String> = Vec::new();
    for round in 0..60 {
        let job = schedule(&mut owner, message(&room, 25, &format!("old {round}"))).await;
        let delay = 5 + (round % 10) * 4;
        tokio::time::sleep(std::time::Duration::from_millis(delay)).await;
        let id = json!({ "jobId": job["jobId"] });
        let outcome = match round % 3 {
            0 => owner.call("schedule.cancel", id).await,
            1 => {
                let change = json!({ "jobId": job["jobId"], "message": format!("new {round}"), "runAt": from_now(0) });
                owner.call("schedule.reschedule", change).await
            }
            _ => owner.call("schedule.sendNow", id).await,
        };
        match (outcome, round % 3) {
            (Ok(_), 0) => {}
            (Ok(_), 1) => expected.push(format!("new {round}")),
            (Ok(_), _) => expected.push(format!("old {round}")),
            (Err(error), _) => {
                assert_eq!(error["code"], "conflict", "{error}");
                expected.push(format!("old {round}"));
            }
        }
    }
    while count(&mut owner).await > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let mut posted = texts(&mut owner, &room).await;
    posted.sort();
    expected.sort();
    assert_eq!(posted, expected);
}

#[tokio::test]
async fn jobs_go_with_their_account() {
    let server = Server::with(&[]).await;
    let (room, (_, mut owner), (bob, mut member)) = server.two_in_a_room().await;
    schedule(&mut member, message(&room, 1500, "from beyond")).await;
    let bob: User = bob;
    server.command(&["user", "delete", &bob.name]);
    let job = schedule(&mut owner, message(&room, 3000, "the end")).await;
    told(&mut owner, &job, "Completed").await;
    assert_eq!(texts(&mut owner, &room).await, ["the end"]);
}
