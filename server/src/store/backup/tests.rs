//! Copies, and databases that are put back by hand.

use std::{fs, path::Path};

use parlour_protocol::RoomId;
use uuid::Uuid;

use super::{BackupError, backup, restore};
use crate::store::db::{Db, OpenError, open_sqlite};

/// A room without anything around it.
async fn add_room(db: &Db) -> RoomId {
    let room_id = RoomId::new();
    db.write(
        "insert into room (room_id, type, name, topic, image, is_read_only, is_invite_paused, \
         allowed_mime_categories, created_at, updated_at) values ($1, 'Room', '', '', '', $2, $2, '[]', 1, 1)",
    )
    .bind(room_id)
    .bind(false)
    .execute()
    .await
    .unwrap();
    db.write("insert into room_head (room_id, epoch, seq, tick, active_tick) values ($1, 'first', 0, 0, 0)")
        .bind(room_id)
        .execute()
        .await
        .unwrap();
    room_id
}

async fn epochs(db: &Db) -> Vec<(Uuid, String)> {
    db.read("select room_id, epoch from room_head order by room_id").all().await.unwrap()
}

async fn shut(db: Db) {
    db.close().await;
    drop(db);
}

fn copy_database(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::copy(from.join("parlour.db"), to.join("parlour.db")).unwrap();
}

#[tokio::test]
async fn a_copy_taken_while_the_server_runs_is_put_back_with_new_epochs() {
    let place = tempfile::tempdir().unwrap();
    let (folder, file) = (place.path().join("data"), place.path().join("copy.db"));
    let db = open_sqlite(&folder).await.unwrap();
    let kept = add_room(&db).await;
    let uploaded = folder.join("files/0a/some");
    fs::create_dir_all(uploaded.parent().unwrap()).unwrap();
    fs::write(&uploaded, "bytes").unwrap();
    backup(&folder, &file).await.unwrap();
    fs::remove_file(&uploaded).unwrap();
    add_room(&db).await;
    assert!(matches!(backup(&folder, &file).await, Err(BackupError::Exists(_))));
    let refused = restore(&folder, &file).await;
    assert!(matches!(refused, Err(BackupError::Open(OpenError::InUse(_)))), "{refused:?}");
    shut(db).await;
    assert_eq!(restore(&folder, &file).await.unwrap(), 1);
    assert_eq!(fs::read_to_string(&uploaded).unwrap(), "bytes", "files come back too");
    let db = open_sqlite(&folder).await.unwrap();
    let restored = epochs(&db).await;
    assert_eq!(restored.len(), 1);
    assert_eq!(restored[0].0, kept.uuid());
    assert_ne!(restored[0].1, "first");
    add_room(&db).await;
    shut(db).await;
    let again = open_sqlite(&folder).await.unwrap();
    assert_eq!(epochs(&again).await.iter().find(|(room_id, _)| *room_id == kept.uuid()), restored.first());
}

#[tokio::test]
async fn a_copy_can_be_put_into_an_empty_folder() {
    let place = tempfile::tempdir().unwrap();
    let (folder, file) = (place.path().join("data"), place.path().join("copy.db"));
    let db = open_sqlite(&folder).await.unwrap();
    add_room(&db).await;
    backup(&folder, &file).await.unwrap();
    let elsewhere = place.path().join("elsewhere");
    assert_eq!(restore(&elsewhere, &file).await.unwrap(), 1);
    assert_eq!(epochs(&open_sqlite(&elsewhere).await.unwrap()).await.len(), 1);
}

#[tokio::test]
async fn what_is_no_database_is_not_put_back() {
    let place = tempfile::tempdir().unwrap();
    let (folder, file) = (place.path().join("data"), place.path().join("copy.db"));
    let db = open_sqlite(&folder).await.unwrap();
    let room_id = add_room(&db).await;
    shut(db).await;
    fs::write(&file, "no database").unwrap();
    let refused = restore(&folder, &file).await;
    assert!(matches!(refused, Err(BackupError::NotADatabase(..))), "{refused:?}");
    let refused = restore(&folder, &place.path().join("absent.db")).await;
    assert!(matches!(refused, Err(BackupError::File(..))), "{refused:?}");
    let db = open_sqlite(&folder).await.unwrap();
    assert_eq!(epochs(&db).await, [(room_id.uuid(), "first".to_owned())]);
    let absent = backup(&place.path().join("nothing"), &place.path().join("other.db")).await;
    assert!(matches!(absent, Err(BackupError::Open(OpenError::Absent(_)))), "{absent:?}");
}

#[tokio::test]
async fn a_database_that_was_copied_back_by_hand_begins_new_epochs() {
    let place = tempfile::tempdir().unwrap();
    let (folder, kept) = (place.path().join("data"), place.path().join("kept"));
    let db = open_sqlite(&folder).await.unwrap();
    add_room(&db).await;
    shut(db).await;
    copy_database(&folder, &kept);
    let db = open_sqlite(&folder).await.unwrap();
    assert_eq!(epochs(&db).await[0].1, "first", "a restart is no copy");
    shut(db).await;
    copy_database(&kept, &folder);
    let db = open_sqlite(&folder).await.unwrap();
    let epoch = epochs(&db).await.remove(0).1;
    assert_ne!(epoch, "first");
    shut(db).await;
    let db = open_sqlite(&folder).await.unwrap();
    assert_eq!(epochs(&db).await[0].1, epoch);
    shut(db).await;
    // Without the file beside it nobody knows: better once too often.
    fs::remove_file(folder.join("generation")).unwrap();
    let db = open_sqlite(&folder).await.unwrap();
    assert_ne!(epochs(&db).await[0].1, epoch);
}
