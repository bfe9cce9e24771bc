//! What commands cost the database.

use std::sync::atomic::Ordering;

use super::*;
use crate::store::db::query::APART;

#[tokio::test]
async fn a_send_is_one_append_and_no_query() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let room = server.post_as(&token, "/v1/rpc/room.create", json!({"name": "Tea"})).await.expect(200);
    let room_id = room.json()["room"]["roomId"].clone();
    let send = |number: usize| {
        let data =
            json!({"roomId": room_id, "message": "@everyone", "format": "Markdown", "nonce": number.to_string()});
        server.post_as(&token, "/v1/rpc/message.send", data)
    };
    send(0).await.expect(200);
    let before = APART.load(Ordering::Relaxed);
    for number in 1..=100 {
        send(number).await.expect(200);
    }
    // Whatever runs in the background meanwhile does not run for each of them.
    let queries = APART.load(Ordering::Relaxed) - before;
    assert!(queries < 20, "{queries} queries for 100 sends");
    server.stop().await;
}
