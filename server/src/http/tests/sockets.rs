use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use parlour_protocol::Timestamp;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest, http::HeaderValue},
};

use super::*;

/// The protocol gives a second; a busy machine may take longer.
const PATIENCE: Duration = Duration::from_secs(5);

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl TestServer {
    async fn socket(&self, headers: &[(&'static str, &str)]) -> Result<Socket, Box<Error>> {
        let mut request = format!("ws://{}/v1/ws", self.address).into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
        }
        connect_async(request).await.map(|(stream, _)| Socket(stream)).map_err(Box::new)
    }

    /// A socket that has said hello.
    async fn logged_in(&self, token: &str) -> Socket {
        let mut socket = self.socket(&[]).await.unwrap();
        let hello = socket.command(1, "session.hello", json!({"token": token})).await;
        assert!(hello["data"]["connectionId"].is_string(), "{hello}");
        socket
    }
}

impl Socket {
    async fn send(&mut self, frame: Value) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    async fn next(&mut self) -> Option<Message> {
        let next = tokio::time::timeout(Duration::from_secs(10), self.0.next()).await.expect("something in time");
        next.and_then(Result::ok)
    }

    async fn command(&mut self, id: u64, op: &str, data: Value) -> Value {
        self.send(json!({"id": id, "op": op, "data": data})).await;
        loop {
            let Some(Message::Text(text)) = self.next().await else { panic!("no reply to {op}") };
            let frame: Value = serde_json::from_str(&text).unwrap();
            if frame["id"] == id {
                return frame;
            }
        }
    }

    /// The code of the close that comes next; whatever comes before it is passed over.
    async fn close_code(&mut self) -> u16 {
        loop {
            match self.next().await {
                Some(Message::Close(Some(frame))) => return frame.code.into(),
                Some(_) => {}
                None => panic!("ended without a close"),
            }
        }
    }
}

#[tokio::test]
async fn an_ended_session_closes_its_sockets_within_a_second_and_no_others() {
    let server = TestServer::start().await;
    let kept = server.register("ada").await;
    let ended = server.log_in("ada", PASSWORD).await.text_of("token");
    let (mut kept_socket, mut ended_socket) = (server.logged_in(&kept).await, server.logged_in(&ended).await);
    let begin = Instant::now();
    server.post_as(&kept, "/v1/rpc/session.revoke", json!({"others": true})).await.expect(200);
    assert_eq!(ended_socket.close_code().await, 4401);
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    let reply = kept_socket.command(2, "session.ping", json!({})).await;
    assert!(reply["data"]["time"].is_string());
    server.post_as(&kept, "/v1/auth/logout", json!({})).await.expect(204);
    assert_eq!(kept_socket.close_code().await, 4401);
    server.stop().await;
}

#[tokio::test]
async fn what_another_process_does_to_an_account_closes_its_sockets_within_a_second() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let mut socket = server.logged_in(&token).await;
    let begin = Instant::now();
    let disable = crate::accounts::AccountAction::Disable;
    crate::accounts::act_on_account(&server.state.db, "ada", disable).await.unwrap();
    assert_eq!(socket.close_code().await, 4401);
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    server.stop().await;
}

#[tokio::test]
async fn a_socket_with_a_bad_token_is_told_and_closed() {
    let server = TestServer::start().await;
    let mut socket = server.socket(&[]).await.unwrap();
    let reply = socket.command(1, "session.hello", json!({"token": "nonsense"})).await;
    assert_eq!(reply["error"]["code"], "unauthenticated");
    assert_eq!(socket.close_code().await, 4401);
    let mut socket = server.socket(&[("authorization", "Bearer nonsense")]).await.unwrap();
    let reply = socket.command(1, "session.hello", json!({})).await;
    assert_eq!(reply["error"]["code"], "unauthenticated");
    server.stop().await;
}

#[tokio::test]
async fn the_upgrade_carries_a_bearer_token_or_the_cookie_of_a_page_of_ours() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let bearer = format!("Bearer {token}");
    let mut socket = server.socket(&[("authorization", &bearer)]).await.unwrap();
    let hello = socket.command(1, "session.hello", json!({})).await;
    assert_eq!(hello["data"]["user"]["name"], "ada");
    let cookie = format!("parlour_session={token}");
    let origin = format!("http://{}", server.address);
    let mut socket = server.socket(&[("cookie", &cookie), ("origin", &origin)]).await.unwrap();
    assert!(socket.command(1, "session.hello", json!({})).await["data"].is_object());
    for foreign in [vec![("cookie", &*cookie), ("origin", "http://evil.example")], vec![("cookie", &*cookie)]] {
        let refused = server.socket(&foreign).await.err().expect("a refusal");
        assert!(matches!(*refused, Error::Http(ref response) if response.status() == 403));
    }
    server.stop().await;
}

#[tokio::test]
async fn bl_117_a_socket_does_not_outlive_its_token_unless_it_is_refreshed() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let soon = Timestamp::now().plus_millis(2500);
    for table in ["session_token", "session"] {
        let sql = sqlx::AssertSqlSafe(format!("update {table} set expires_at = $1"));
        server.state.db.write(sql).bind(soon).execute().await.unwrap();
    }
    let (mut left, mut renewed) = (server.logged_in(&token).await, server.logged_in(&token).await);
    let other = server.log_in("ada", PASSWORD).await.text_of("token");
    let reply = renewed.command(2, "session.refresh", json!({"token": other})).await;
    assert!(reply["data"]["expiresAt"].is_string(), "{reply}");
    let event = loop {
        let Some(Message::Text(event)) = left.next().await else { panic!("no notice") };
        let event: Value = serde_json::from_str(&event).unwrap();
        if event["event"] != "status.changed" {
            break event;
        }
    };
    assert_eq!(event["event"], "session.expiring");
    assert!(event["data"]["inMs"].as_u64().unwrap() <= 2500);
    assert_eq!(left.close_code().await, 4401);
    assert!(renewed.command(3, "session.ping", json!({})).await["data"].is_object());
    server.stop().await;
}

#[tokio::test]
async fn a_session_renewed_over_http_keeps_its_sockets() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let soon = Timestamp::now().plus_millis(2500);
    for table in ["session_token", "session"] {
        let sql = sqlx::AssertSqlSafe(format!("update {table} set expires_at = $1"));
        server.state.db.write(sql).bind(soon).execute().await.unwrap();
    }
    let mut socket = server.logged_in(&token).await;
    server.post_as(&token, "/v1/auth/refresh", json!({})).await.expect(200);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(socket.command(2, "session.ping", json!({})).await["data"].is_object());
    server.stop().await;
}

#[tokio::test]
async fn another_users_token_does_not_refresh_a_socket() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.register("ada").await, server.register("bob").await);
    let mut socket = server.logged_in(&ada).await;
    let reply = socket.command(2, "session.refresh", json!({"token": bob})).await;
    assert_eq!(reply["error"]["code"], "forbidden");
    let reply = socket.command(3, "session.refresh", json!({"token": "nonsense"})).await;
    assert_eq!(reply["error"]["code"], "unauthenticated");
    assert!(socket.command(4, "session.ping", json!({})).await["data"].is_object(), "the old token stays");
    server.stop().await;
}

#[tokio::test]
async fn a_changed_name_reaches_those_who_share_a_room() {
    let server = TestServer::start().await;
    let (ada, bob, eve) = (server.register("ada").await, server.register("bob").await, server.register("eve").await);
    let room = server.post_as(&ada, "/v1/rpc/room.create", json!({"name": "r"})).await.expect(200).json();
    let invite = json!({"roomId": room["room"]["roomId"]});
    let invite = server.post_as(&ada, "/v1/rpc/invite.create", invite).await.expect(200).json();
    let join = json!({"inviteId": invite["invite"]["inviteId"]});
    server.post_as(&bob, "/v1/rpc/invite.join", join).await.expect(200);
    let (mut of_bob, mut of_eve) = (server.logged_in(&bob).await, server.logged_in(&eve).await);
    let subscribe = json!({"rooms": [{"roomId": room["room"]["roomId"]}]});
    let reply = of_bob.command(2, "room.subscribe", subscribe).await;
    assert_eq!(reply["data"]["rooms"][0]["verdict"], "live", "{reply}");
    server.post_as(&ada, "/v1/rpc/user.update", json!({"name": "Countess"})).await.expect(200);
    let event = loop {
        let Some(Message::Text(event)) = of_bob.next().await else { panic!("no event") };
        let event: Value = serde_json::from_str(&event).unwrap();
        if event["event"] == "user.updated" {
            break event;
        }
    };
    assert_eq!(event["data"]["user"]["name"], "Countess");
    let members = json!({"roomId": room["room"]["roomId"]});
    let members = server.post_as(&bob, "/v1/rpc/room.members", members).await.expect(200).json();
    assert!(members["items"].as_array().unwrap().iter().any(|member| member["user"]["name"] == "Countess"));
    let quiet = of_eve.command(2, "session.ping", json!({})).await;
    assert_eq!(quiet["id"], 2, "nothing came before");
    server.stop().await;
}

#[tokio::test]
async fn a_draining_server_says_1001() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let mut socket = server.logged_in(&token).await;
    server.stop.cancel();
    assert_eq!(socket.close_code().await, 1001);
    server.stop().await;
}

#[tokio::test]
async fn a_session_is_listed_with_the_program_that_just_said_hello() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let mut socket = server.socket(&[]).await.unwrap();
    let client = json!({"name": "demo", "version": "1.0"});
    socket.command(1, "session.hello", json!({"token": token, "client": client})).await;
    let listed = socket.command(2, "session.list", json!({})).await;
    assert_eq!(listed["data"]["items"][0]["client"], client, "{listed}");
    assert_eq!(listed["data"]["items"][0]["address"], "127.0.0.1");
    server.stop().await;
}
