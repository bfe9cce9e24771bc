//! Files: uploads, their addresses, attaching, discarding, deleting.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Client, Server, items, nonce};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture of tea, more or less";

/// Addresses for one file.
async fn upload(client: &mut Client, room: &str, name: &str, mimetype: &str, size: usize) -> Value {
    let files = json!([{ "filename": name, "mimetype": mimetype, "size": size }]);
    let reply = client.ok("file.createUploads", json!({ "roomId": room, "files": files, "nonce": nonce() })).await;
    reply["files"][0].clone()
}

async fn put(server: &Server, url: &Value, mimetype: &str, bytes: &[u8]) -> Answer {
    let request = server.request(Method::PUT, url.as_str().unwrap()).header("content-type", mimetype);
    Answer::of(request.body(bytes.to_vec())).await
}

/// A file whose bytes are there.
async fn uploaded(server: &Server, client: &mut Client, room: &str, name: &str, bytes: &[u8]) -> Value {
    let upload = upload(client, room, name, "text/plain", bytes.len()).await;
    assert_eq!(put(server, &upload["uploadUrl"], "text/plain", bytes).await.status, 201);
    upload
}

async fn fetch(server: &Server, url: &Value) -> (u16, Vec<u8>) {
    let answer = server.request(Method::GET, url.as_str().unwrap()).send().await.unwrap();
    (answer.status().as_u16(), answer.bytes().await.unwrap().to_vec())
}

fn with_files(room: &str, files: &[&Value]) -> Value {
    let files: Vec<_> = files.iter().map(|file| json!({ "fileId": file["fileId"] })).collect();
    json!({ "roomId": room, "files": files, "nonce": nonce() })
}

#[tokio::test]
async fn s_069_two_files_of_one_name_are_two_files() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let files = json!([
        { "filename": "a b+ü#?.txt", "mimetype": "text/plain", "size": 3 },
        { "filename": "a b+ü#?.txt", "mimetype": "text/plain", "size": 5 },
    ]);
    let create = json!({ "roomId": room, "files": files, "nonce": nonce() });
    let reply = client.ok("file.createUploads", create.clone()).await;
    assert_eq!(client.ok("file.createUploads", create).await, reply, "a repeat answers the first result");
    let (one, two) = (&reply["files"][0], &reply["files"][1]);
    assert_ne!(one["fileId"], two["fileId"]);
    assert_ne!(one["uploadUrl"], two["uploadUrl"]);
    assert!(one.get("thumbnailUploadUrl").is_none());
    assert_eq!(put(&server, &one["uploadUrl"], "text/plain", b"one").await.status, 201);
    assert_eq!(put(&server, &two["uploadUrl"], "text/plain", b"other").await.status, 201);
    let sent = client.ok("message.send", with_files(&room, &[one, two])).await;
    let files = sent["message"]["files"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(
        files[0],
        json!({
            "fileId": one["fileId"], "filename": "a b+ü#?.txt", "mimetype": "text/plain", "size": 3,
        })
    );
    let row_key = &sent["message"]["rowKey"];
    let wanted = json!([
        { "rowKey": row_key, "fileId": one["fileId"] },
        { "rowKey": row_key, "fileId": two["fileId"] },
    ]);
    let urls = client.ok("file.urls", json!({ "roomId": room, "files": wanted })).await;
    assert_eq!(fetch(&server, &urls["files"][0]["url"]).await, (200, b"one".to_vec()));
    assert_eq!(fetch(&server, &urls["files"][1]["url"]).await, (200, b"other".to_vec()));
    let answer = server.request(Method::HEAD, urls["files"][0]["url"].as_str().unwrap()).send().await.unwrap();
    let disposition = answer.headers()["content-disposition"].to_str().unwrap();
    assert_eq!(disposition, "attachment; filename=\"a b+_#?.txt\"; filename*=UTF-8''a%20b+%C3%BC#%3F.txt");
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    assert_eq!(answer.headers()["content-type"], "text/plain");
    assert_eq!(answer.headers()["content-length"], "3");
    assert!(answer.bytes().await.unwrap().is_empty());
}

#[tokio::test]
async fn s_070_a_given_up_upload_is_gone() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let upload = uploaded(&server, &mut client, &room, "a.txt", b"tea").await;
    let named = json!({ "roomId": room, "files": [{ "fileId": upload["fileId"] }] });
    let url = client.ok("file.urls", named.clone()).await["files"][0]["url"].clone();
    assert_eq!(fetch(&server, &url).await.0, 200);
    let files = json!([{ "fileId": upload["fileId"], "grant": upload["grant"] }]);
    client.ok("file.discard", json!({ "roomId": room, "files": files })).await;
    client.ok("file.discard", json!({ "roomId": room, "files": files })).await;
    assert_eq!(fetch(&server, &url).await.0, 404);
    assert_eq!(put(&server, &upload["uploadUrl"], "text/plain", b"tea").await.refused(), (403, "forbidden"));
    assert!(items(&client.ok("file.urls", named).await).is_empty());
    assert_eq!(client.refused("message.send", with_files(&room, &[&upload])).await, "not_found");
}

#[tokio::test]
async fn s_071_a_name_is_one_segment_of_a_path() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    for name in ["../a", "a/b", "a\\b", ".", "..", "a\nb", ""] {
        let files = json!([
            { "filename": "good", "mimetype": "text/plain", "size": 1 },
            { "filename": name, "mimetype": "text/plain", "size": 1 },
        ]);
        let error = client.error("file.createUploads", json!({ "roomId": room, "files": files })).await;
        assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!("/files/1/filename")), "{name:?}");
    }
}

#[tokio::test]
async fn s_072_a_grant_of_another_gives_nothing_up() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = ada.room("Tea").await;
    ada.bring(&room, &mut bob).await;
    let one = uploaded(&server, &mut ada, &room, "a.txt", b"one").await;
    let two = uploaded(&server, &mut bob, &room, "b.txt", b"two").await;
    let discard = |files: Value| json!({ "roomId": room, "files": files });
    let foreign = json!([
        { "fileId": two["fileId"], "grant": two["grant"] },
        { "fileId": one["fileId"], "grant": one["grant"] },
    ]);
    let error = bob.error("file.discard", discard(foreign)).await;
    assert_eq!((&error["code"], &error["field"]), (&json!("forbidden"), &json!("/files/1/grant")));
    let swapped = json!([{ "fileId": two["fileId"], "grant": one["grant"] }]);
    assert_eq!(bob.refused("file.discard", discard(swapped)).await, "forbidden");
    assert_eq!(
        bob.refused("file.discard", discard(json!([{ "fileId": two["fileId"], "grant": "x" }]))).await,
        "forbidden"
    );
    // Nothing was discarded; what is attached stays.
    bob.ok("message.send", with_files(&room, &[&two])).await;
    let own = json!([{ "fileId": two["fileId"], "grant": two["grant"] }]);
    assert_eq!(bob.refused("file.discard", discard(own)).await, "conflict");
    ada.ok("message.send", with_files(&room, &[&one])).await;
}

#[tokio::test]
async fn s_073_addresses_are_asked_for_one_to_a_thousand_at_a_time() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (_, mut eve) = server.client("Eve").await;
    let room = client.room("Tea").await;
    let id = |_| json!({ "fileId": uuid::Uuid::new_v4().to_string() });
    let urls = |files: Vec<Value>| json!({ "roomId": room, "files": files });
    assert_eq!(client.refused("file.urls", urls(Vec::new())).await, "bad_request");
    let twice = id(0);
    assert_eq!(client.refused("file.urls", urls(vec![twice.clone(), twice])).await, "bad_request");
    assert_eq!(client.refused("file.urls", urls((0..1001).map(id).collect())).await, "bad_request");
    assert_eq!(client.ok("file.urls", urls((0..1000).map(id).collect())).await, json!({}));
    assert_eq!(eve.refused("file.urls", urls(vec![id(0)])).await, "forbidden");
}

#[tokio::test]
async fn an_upload_is_taken_as_declared_or_not_at_all() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let file = upload(&mut client, &room, "a.png", "image/png", PNG.len()).await;
    let url = &file["uploadUrl"];
    let attach = with_files(&room, &[&file]);
    assert_eq!(client.refused("message.send", attach.clone()).await, "bad_request");
    assert_eq!(put(&server, url, "image/gif", PNG).await.refused(), (415, "bad_request"));
    assert_eq!(put(&server, url, "image/png", &[PNG, b"!"].concat()).await.refused(), (413, "payload_too_large"));
    assert_eq!(put(&server, url, "image/png", &PNG[1..]).await.refused(), (400, "bad_request"));
    let altered = url.as_str().unwrap();
    let (rest, last) = altered.split_at(altered.len() - 1);
    let altered = json!(format!("{rest}{}", if last == "A" { "B" } else { "A" }));
    assert_eq!(put(&server, &altered, "image/png", PNG).await.refused(), (403, "forbidden"));
    let frame = hyper::body::Frame::data(bytes::Bytes::from_static(PNG));
    let frames = futures_util::stream::iter([Ok::<_, std::io::Error>(frame)]);
    let chunked = reqwest::Body::wrap(http_body_util::StreamBody::new(frames));
    let request = server.request(Method::PUT, url.as_str().unwrap()).header("content-type", "image/png").body(chunked);
    assert_eq!(Answer::of(request).await.refused(), (411, "bad_request"));
    assert_eq!(fetch(&server, url).await.0, 403, "an address for bringing does not fetch");
    assert_eq!(client.refused("message.send", attach.clone()).await, "bad_request");
    // Again and again, until it is attached.
    let page = [b"<!doctype html><script>alert(1)</script>".as_slice(), &[b' '; 40]].concat();
    assert_eq!(put(&server, url, "image/png", &page[..PNG.len()]).await.status, 201);
    assert_eq!(client.refused("message.send", attach.clone()).await, "bad_request", "a page is no image");
    assert_eq!(put(&server, url, "image/png", PNG).await.status, 201);
    let sent = client.ok("message.send", attach.clone()).await;
    assert_eq!(sent["message"]["files"][0]["size"], PNG.len());
    assert_eq!(client.ok("message.send", attach).await["message"]["rowKey"], sent["message"]["rowKey"], "a repeat");
    assert_eq!(put(&server, url, "image/png", PNG).await.refused(), (403, "forbidden"));
    assert_eq!(client.refused("message.send", with_files(&room, &[&file])).await, "conflict");
}

#[tokio::test]
async fn a_file_is_attached_once_whoever_races() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let file = uploaded(&server, &mut client, &room, "a.txt", b"tea").await;
    let sends: Vec<_> = (0..8).map(|_| with_files(&room, &[&file])).collect();
    let answers = futures_util::future::join_all(sends.iter().map(|data| server.rpc(&ada, "message.send", data))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(answers.iter().filter(|answer| answer.status != 200).all(|answer| answer.refused() == (409, "conflict")));
}

#[tokio::test]
async fn only_own_uploads_of_the_room_can_be_attached() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let (room, other) = (ada.room("Tea").await, ada.room("Coffee").await);
    ada.bring(&room, &mut bob).await;
    let file = uploaded(&server, &mut ada, &room, "a.txt", b"tea").await;
    assert_eq!(bob.refused("message.send", with_files(&room, &[&file])).await, "not_found");
    assert_eq!(ada.refused("message.send", with_files(&other, &[&file])).await, "not_found");
    let named = json!({ "roomId": room, "files": [{ "fileId": file["fileId"] }] });
    assert_eq!(bob.ok("file.urls", named).await, json!({}));
    ada.ok("message.send", with_files(&room, &[&file])).await;
}

#[tokio::test]
async fn a_rooms_limits_hold_for_all_files_of_a_call() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let settings = json!({ "roomId": room, "maxFileSizeBytes": 100, "allowedMimeCategories": ["Image"] });
    owner.ok("room.update", settings).await;
    let create = |mimetype: &str, size: u64| {
        let files = json!([
            { "filename": "good", "mimetype": "image/png", "size": 100 },
            { "filename": "other", "mimetype": mimetype, "size": size },
        ]);
        json!({ "roomId": room, "files": files })
    };
    let error = owner.error("file.createUploads", create("image/png", 101)).await;
    assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!("/files/1/size")));
    let error = owner.error("file.createUploads", create("audio/ogg", 1)).await;
    assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!("/files/1/mimetype")));
    assert_eq!(owner.refused("file.createUploads", create("nonsense", 1)).await, "bad_request");
    owner.ok("file.createUploads", create("image/gif", 1)).await;
    // The server's own limit cannot be raised, and what was allowed before is looked at again.
    let file = upload(&mut owner, &room, "a.png", "image/png", PNG.len()).await;
    put(&server, &file["uploadUrl"], "image/png", PNG).await.ok();
    owner.ok("room.update", json!({ "roomId": room, "allowedMimeCategories": ["Audio"] })).await;
    assert_eq!(owner.refused("message.send", with_files(&room, &[&file])).await, "bad_request");
    let all = json!(["Audio", "Document", "Image", "Video"]);
    let settings = json!({ "roomId": room, "maxFileSizeBytes": 1_000_000_000, "allowedMimeCategories": all });
    owner.ok("room.update", settings).await;
    owner.ok("file.createUploads", create("a/b", 10_485_760)).await;
    assert_eq!(owner.refused("file.createUploads", create("a/b", 10_485_761)).await, "bad_request");
    owner.ok("message.send", with_files(&room, &[&file])).await;
}

#[tokio::test]
async fn a_range_gives_a_part() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let file = uploaded(&server, &mut client, &room, "a.txt", b"0123456789").await;
    let named = json!({ "roomId": room, "files": [{ "fileId": file["fileId"] }] });
    let url = client.ok("file.urls", named).await["files"][0]["url"].clone();
    let get = |range: &str| server.request(Method::GET, url.as_str().unwrap()).header("range", range).send();
    let part = get("bytes=2-4").await.unwrap();
    assert_eq!((part.status().as_u16(), &part.headers()["content-range"]), (206, &"bytes 2-4/10".parse().unwrap()));
    let etag = part.headers()["etag"].clone();
    assert_eq!(part.text().await.unwrap(), "234");
    assert_eq!(get("bytes=-3").await.unwrap().text().await.unwrap(), "789");
    let beyond = get("bytes=10-").await.unwrap();
    assert_eq!((beyond.status().as_u16(), &beyond.headers()["content-range"]), (416, &"bytes */10".parse().unwrap()));
    let known = server.request(Method::GET, url.as_str().unwrap()).header("if-none-match", etag.clone());
    assert_eq!(known.send().await.unwrap().status(), 304);
    // Replaced bytes are others.
    put(&server, &file["uploadUrl"], "text/plain", b"abcdefghij").await.ok();
    let stale =
        server.request(Method::GET, url.as_str().unwrap()).header("range", "bytes=2-4").header("if-range", etag);
    assert_eq!(stale.send().await.unwrap().text().await.unwrap(), "abcdefghij");
}

#[tokio::test]
async fn a_thumbnail_comes_from_the_client() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let file = upload(&mut client, &room, "a.png", "image/png", PNG.len()).await;
    put(&server, &file["uploadUrl"], "image/png", PNG).await.ok();
    let files = json!([{ "fileId": file["fileId"], "hasThumbnail": true }]);
    let send = json!({ "roomId": room, "files": files, "nonce": nonce() });
    assert_eq!(client.refused("message.send", send.clone()).await, "bad_request");
    let url = &file["thumbnailUploadUrl"];
    assert_eq!(put(&server, url, "image/png", b"small").await.refused(), (415, "bad_request"));
    assert_eq!(put(&server, url, "image/webp", &vec![1; 262_145]).await.refused(), (413, "payload_too_large"));
    put(&server, url, "image/webp", b"small").await.ok();
    let sent = client.ok("message.send", send).await;
    assert_eq!(sent["message"]["files"][0]["hasThumbnail"], true);
    let wanted = json!([{ "rowKey": sent["message"]["rowKey"], "fileId": file["fileId"] }]);
    let urls = client.ok("file.urls", json!({ "roomId": room, "files": wanted })).await;
    assert_eq!(fetch(&server, &urls["files"][0]["thumbnailUrl"]).await, (200, b"small".to_vec()));
}

#[tokio::test]
async fn files_outlive_a_killed_server_and_are_for_readers() {
    let server = Server::with(&[]).await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let file = uploaded(&server, &mut client, &room, "a.txt", b"tea").await;
    let sent = client.ok("message.send", with_files(&room, &[&file])).await;
    let wanted = json!([{ "rowKey": sent["message"]["rowKey"], "fileId": file["fileId"] }]);
    let urls = client.ok("file.urls", json!({ "roomId": room, "files": wanted })).await;
    server.restart().await;
    let url = urls["files"][0]["url"].clone();
    assert_eq!(fetch(&server, &url).await, (200, b"tea".to_vec()), "a restart changes nothing");
    let user = server.user("Eve").await;
    let mut eve = Client::of(&server, &user).await;
    assert_eq!(eve.refused("file.urls", json!({ "roomId": room, "files": wanted })).await, "forbidden");
}

#[tokio::test]
async fn s_030_a_file_is_taken_off_its_message() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let (_, mut eve) = server.client("Eve").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    owner.bring(&room, &mut eve).await;
    let mut files = Vec::new();
    for name in ["a.txt", "b.txt", "c.txt"] {
        files.push(uploaded(&server, &mut client, &room, name, name.as_bytes()).await);
    }
    let sent = client.ok("message.send", with_files(&room, &files.iter().collect::<Vec<_>>())).await;
    let row_key = &sent["message"]["rowKey"];
    let urls: Vec<_> = files.iter().map(|file| json!({ "rowKey": row_key, "fileId": file["fileId"] })).collect();
    let urls = client.ok("file.urls", json!({ "roomId": room, "files": urls })).await;
    let delete = |file: &Value| json!({ "roomId": room, "rowKey": row_key, "fileId": file["fileId"] });
    assert_eq!(eve.refused("file.delete", delete(&files[0])).await, "forbidden");
    owner.subscribe(&room).await;
    // Two at once: neither comes back.
    let (first, second) = (delete(&files[0]), delete(&files[1]));
    let (one, two) = tokio::join!(server.rpc(&bob, "file.delete", &first), server.rpc(&bob, "file.delete", &second));
    let mut revs = [one.ok()["rev"].as_u64().unwrap(), two.ok()["rev"].as_u64().unwrap()];
    revs.sort_unstable();
    assert_eq!(revs, [2, 3]);
    owner.event("message.updated").await;
    let updated = owner.event("message.updated").await;
    assert_eq!(updated["data"]["changes"]["files"], json!([sent["message"]["files"][2]]));
    let read = client.ok("message.get", json!({ "roomId": room, "rowKeys": [row_key] })).await;
    assert_eq!(read["items"][0]["files"], json!([sent["message"]["files"][2]]));
    assert_eq!(read["items"][0]["isEdited"], true);
    assert_eq!(fetch(&server, &urls["files"][0]["url"]).await.0, 404);
    assert_eq!(fetch(&server, &urls["files"][2]["url"]).await.0, 200);
    assert_eq!(client.refused("file.delete", delete(&files[0])).await, "not_found");
    owner.ok("file.delete", delete(&files[2])).await;
    assert_eq!(client.refused("file.delete", delete(&files[2])).await, "bad_request");
    let plain = client.say(&room, "no files").await;
    let data = json!({ "roomId": room, "rowKey": plain["rowKey"], "fileId": files[0]["fileId"] });
    assert_eq!(client.refused("file.delete", data).await, "bad_request");
    client.ok("message.delete", json!({ "roomId": room, "rowKey": row_key })).await;
    assert_eq!(client.refused("file.delete", delete(&files[2])).await, "not_found");
}

#[tokio::test]
async fn s_029_deleting_a_message_deletes_its_files() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let file = uploaded(&server, &mut client, &room, "a.txt", b"tea").await;
    let sent = client.ok("message.send", with_files(&room, &[&file])).await;
    let row_key = &sent["message"]["rowKey"];
    let wanted = json!({ "roomId": room, "files": [{ "rowKey": row_key, "fileId": file["fileId"] }] });
    let url = client.ok("file.urls", wanted.clone()).await["files"][0]["url"].clone();
    client.ok("message.delete", json!({ "roomId": room, "rowKey": row_key })).await;
    assert_eq!(fetch(&server, &url).await.0, 404);
    assert_eq!(client.ok("file.urls", wanted).await, json!({}));
}

#[tokio::test]
async fn an_image_has_a_lasting_public_address() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = client.room("Tea").await;
    client.bring(&room, &mut bob).await;
    let create = json!({ "mimetype": "image/png", "size": PNG.len(), "nonce": nonce() });
    let reply = client.ok("file.createImageUpload", create.clone()).await;
    assert_eq!(client.ok("file.createImageUpload", create).await, reply);
    assert_eq!(fetch(&server, &reply["image"]).await.0, 404);
    put(&server, &reply["uploadUrl"], "image/png", PNG).await.ok();
    assert_eq!(fetch(&server, &reply["image"]).await, (200, PNG.to_vec()));
    client.ok("user.update", json!({ "image": reply["image"] })).await;
    let of_room = json!({ "roomId": room, "mimetype": "image/png", "size": 1 });
    assert_eq!(bob.refused("file.createImageUpload", of_room.clone()).await, "forbidden");
    client.ok("file.createImageUpload", of_room).await;
    for bad in [json!({ "mimetype": "text/html", "size": 1 }), json!({ "mimetype": "image/png", "size": 1_048_577 })] {
        assert_eq!(client.refused("file.createImageUpload", bad).await, "bad_request");
    }
}

#[tokio::test]
async fn the_files_of_a_deleted_account_go_and_its_messages_stay() {
    let server = Server::with(&[]).await;
    let (room, (_, mut owner), (bob, mut member)) = server.two_in_a_room().await;
    let file = uploaded(&server, &mut member, &room, "a.txt", b"of tea").await;
    let message = member.ok("message.send", with_files(&room, &[&file])).await["message"].take();
    let asked = json!({ "roomId": room, "files": [{ "rowKey": message["rowKey"], "fileId": file["fileId"] }] });
    let url = owner.ok("file.urls", asked.clone()).await["files"][0]["url"].take();
    assert_eq!(fetch(&server, &url).await.0, 200);
    owner.subscribe(&room).await;
    server.command(&["user", "delete", &bob.name]);
    assert_eq!(owner.event("member.left").await["data"]["userId"], json!(bob.id));
    assert_eq!(owner.ok("file.urls", asked).await, json!({}));
    assert_eq!(fetch(&server, &url).await.0, 404);
    let list = owner.ok("message.list", json!({ "roomId": room })).await;
    assert!(items(&list).iter().any(|listed| listed["rowKey"] == message["rowKey"]));
}
