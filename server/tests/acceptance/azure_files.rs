//! Files in a container of Azure's storage: clients bring and fetch them there, this server only shows the way.

use reqwest::{Client as Http, redirect::Policy};
use serde_json::{Value, json};

use crate::harness::{Server, nonce};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture of tea, more or less";

/// A server whose files lie in the account of `PARLOUR_TEST_AZURITE`. None, visibly, without it; a failure then when
/// `PARLOUR_TEST_REQUIRE_AZURITE` is set.
async fn server() -> Option<Server> {
    let Ok(account) = std::env::var("PARLOUR_TEST_AZURITE") else {
        assert!(std::env::var_os("PARLOUR_TEST_REQUIRE_AZURITE").is_none(), "PARLOUR_TEST_AZURITE is not set");
        eprintln!("SKIPPED: PARLOUR_TEST_AZURITE is not set");
        return None;
    };
    let container = format!("accept-{}", uuid::Uuid::new_v4().simple());
    let settings =
        [("PARLOUR_AZURE_BLOB_CONNECTION_STRING", account.as_str()), ("PARLOUR_AZURE_BLOB_CONTAINER", &container)];
    Some(Server::with(&settings).await)
}

fn http() -> Http {
    Http::builder().no_proxy().redirect(Policy::none()).build().unwrap()
}

async fn put(url: &Value, mimetype: &str, bytes: &[u8]) -> u16 {
    let url = url.as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let request = http().put(url).header("content-type", mimetype).header("x-ms-blob-type", "BlockBlob");
    request.body(bytes.to_vec()).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn files_are_brought_to_and_fetched_from_the_container() {
    let Some(server) = server().await else { return };
    let (room, (_, mut ada), (_, mut bob)) = server.two_in_a_room().await;
    let files = json!([{ "filename": "a b.png", "mimetype": "image/png", "size": PNG.len() }]);
    let upload = ada.ok("file.createUploads", json!({ "roomId": room, "files": files, "nonce": nonce() })).await;
    let upload = upload["files"][0].clone();
    let send = json!({
        "roomId": room, "files": [{ "fileId": upload["fileId"], "hasThumbnail": true }], "nonce": nonce(),
    });
    assert_eq!(ada.refused("message.send", send.clone()).await, "bad_request", "no bytes yet");
    assert_eq!(put(&upload["uploadUrl"], "image/png", PNG).await, 201);
    assert_eq!(put(&upload["thumbnailUploadUrl"], "image/webp", b"small").await, 201);
    let sent = ada.ok("message.send", send).await["message"].clone();
    assert_ne!(put(&upload["uploadUrl"], "image/png", b"something else").await, 201, "what was sent stays what it is");
    let wanted = json!([{ "rowKey": sent["rowKey"], "fileId": upload["fileId"] }]);
    let urls = bob.ok("file.urls", json!({ "roomId": room, "files": wanted })).await["files"][0].clone();
    let answer = http().get(urls["url"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(answer.headers()["content-disposition"], "attachment; filename=\"a b.png\"; filename*=UTF-8''a%20b.png");
    assert_eq!(answer.headers()["content-type"], "image/png");
    assert_eq!(answer.bytes().await.unwrap(), PNG);
    let answer = http().get(urls["thumbnailUrl"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(answer.bytes().await.unwrap(), &b"small"[..]);
    // The bytes go with the message.
    ada.ok("message.delete", json!({ "roomId": room, "rowKey": sent["rowKey"] })).await;
    let gone = async {
        while http().get(urls["url"].as_str().unwrap()).send().await.unwrap().status() != 404 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(crate::harness::PATIENCE, gone).await.unwrap();
}

#[tokio::test]
async fn bytes_that_are_not_as_declared_are_not_attached() {
    let Some(server) = server().await else { return };
    let (_, mut ada) = server.client("Ada").await;
    let room = ada.room("Tea").await;
    for (mimetype, bytes, reason) in
        [("text/plain", &b"four"[..], "not as many as declared"), ("text/html", b"tea", "another type than declared")]
    {
        let files = json!([{ "filename": "tea.txt", "mimetype": "text/plain", "size": 3 }]);
        let upload = ada.ok("file.createUploads", json!({ "roomId": room, "files": files, "nonce": nonce() })).await;
        let upload = upload["files"][0].clone();
        assert_eq!(put(&upload["uploadUrl"], mimetype, bytes).await, 201);
        let send = json!({ "roomId": room, "files": [{ "fileId": upload["fileId"] }], "nonce": nonce() });
        let error = ada.error("message.send", send).await;
        assert!(error["message"].as_str().unwrap().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_public_image_keeps_its_address_and_leads_to_the_container() {
    let Some(server) = server().await else { return };
    let (_, mut ada) = server.client("Ada").await;
    let image = json!({ "mimetype": "image/png", "size": PNG.len(), "nonce": nonce() });
    let image = ada.ok("file.createImageUpload", image).await;
    assert_eq!(put(&image["uploadUrl"], "image/png", PNG).await, 201);
    let address = image["image"].as_str().unwrap();
    assert!(address.starts_with("/v1/files/"), "{address}");
    ada.ok("user.update", json!({ "image": address })).await;
    let answer = http().get(server.url(address)).send().await.unwrap();
    assert_eq!(answer.status(), 307);
    let answer = http().get(answer.headers()["location"].to_str().unwrap()).send().await.unwrap();
    assert_eq!(answer.bytes().await.unwrap(), PNG);
    let page = http().get(server.url("/")).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("connect-src 'self' http://127.0.0.1:"), "the page may bring files there: {policy}");
}
