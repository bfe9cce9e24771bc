//! What opening and querying promise.

use parlour_protocol::{Timestamp, UserId};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{Db, DbError, OpenError, ServerLimits, Tx, list, open_postgres_with, open_sqlite};
use crate::store::{StoreError, testing::TestDb};

#[derive(Debug, PartialEq, sqlx::FromRow)]
struct AccountRow {
    user_id: Uuid,
    name: String,
    issuer: Option<String>,
    is_operator: bool,
    created_at: i64,
}

async fn add_account(db: &Db, user_id: UserId, name: &str) -> Result<u64, DbError> {
    db.write(
        "insert into account (user_id, name, name_key, name_fold, image, biography, is_operator, is_disabled, \
         is_deleted, issuer, created_at, updated_at) values ($1, $2, $2, $2, '', '', $3, false, false, $4, $5, $5)",
    )
    .bind(user_id)
    .bind(name)
    .bind(true)
    .bind(None::<String>)
    .bind(Timestamp::from_millis(1_700_000_000_000))
    .execute()
    .await
}

async fn reads_what_was_written(db: &Db) {
    let (ada, bob, eve) = (UserId::new(), UserId::new(), UserId::new());
    add_account(db, ada, "ada").await.unwrap();
    add_account(db, bob, "bob").await.unwrap();
    add_account(db, eve, "eve").await.unwrap();
    let sql = "select user_id, name, issuer, is_operator, created_at from account where user_id = $1";
    let row: AccountRow = db.read(sql).bind(ada).one().await.unwrap();
    let expected = AccountRow {
        user_id: ada.uuid(),
        name: "ada".to_owned(),
        issuer: None,
        is_operator: true,
        created_at: 1_700_000_000_000,
    };
    assert_eq!(row, expected);
    for ids in [vec![], vec![ada], vec![ada, bob, eve]] {
        let sql = format!("select count(*) from account where user_id in {}", list(1, ids.len()));
        let (count,): (i64,) = db.read(AssertSqlSafe(sql)).bind_list(&ids).one().await.unwrap();
        assert_eq!(usize::try_from(count).unwrap(), ids.len());
    }
    assert!(matches!(add_account(db, UserId::new(), "ada").await, Err(DbError::Unique)));
    let orphan = db
        .write("insert into member_role (room_id, user_id, role_id) values ($1, $1, $1)")
        .bind(Uuid::new_v4())
        .execute()
        .await;
    assert!(matches!(orphan, Err(DbError::Constraint(_))), "{orphan:?}");
    let mut tx = db.begin().await.unwrap();
    tx.query("delete from account").execute().await.unwrap();
    drop(tx);
    let (count,): (i64,) = db.read("select count(*) from account").one().await.unwrap();
    assert_eq!(count, 3);
}

#[tokio::test]
async fn sqlite_reads_what_was_written() {
    reads_what_was_written(&TestDb::sqlite().await.db).await;
}

#[tokio::test]
async fn postgres_reads_what_was_written() {
    if let Some(test) = TestDb::postgres().await {
        reads_what_was_written(&test.db).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_at_once_make_the_tables_once() {
    let Some(options) = TestDb::empty_schema().await else { return };
    let limits = ServerLimits { connections: 4, ..ServerLimits::default() };
    let opened = futures_util::future::join_all((0..4).map(|_| open_postgres_with(options.clone(), limits))).await;
    for (number, db) in opened.into_iter().enumerate() {
        let db = db.unwrap();
        add_account(&db, UserId::new(), &format!("node {number}")).await.unwrap();
        db.close().await;
    }
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended_and_the_next_one_works() {
    let Some(options) = TestDb::empty_schema().await else { return };
    let statement = std::time::Duration::from_millis(100);
    let limits = ServerLimits { connections: 4, statement, ..ServerLimits::default() };
    let db = open_postgres_with(options, limits).await.unwrap();
    let outcome = db.read("select 1 from pg_sleep(10)").execute().await;
    assert!(matches!(outcome, Err(DbError::Store(StoreError::Unavailable(_)))), "{outcome:?}");
    assert_eq!(db.read("select count(*) from account").one::<(i64,)>().await.unwrap(), (0,));
}

#[tokio::test]
async fn a_caller_who_finds_no_connection_is_told_in_time() {
    let Some(options) = TestDb::empty_schema().await else { return };
    let wait = std::time::Duration::from_millis(200);
    let db =
        open_postgres_with(options, ServerLimits { connections: 1, wait, ..ServerLimits::default() }).await.unwrap();
    let held = db.begin().await.unwrap();
    let outcome = db.read("select 1").execute().await;
    assert!(matches!(outcome, Err(DbError::Store(StoreError::Unavailable(_)))), "{outcome:?}");
    drop(held);
    db.read("select 1").execute().await.unwrap();
}

#[tokio::test]
async fn the_clock_of_the_database_is_this_machines_in_tests() {
    assert_eq!(TestDb::sqlite().await.db.clock_ahead().await.unwrap(), None);
    if let Some(test) = TestDb::postgres().await {
        let ahead = test.db.clock_ahead().await.unwrap().unwrap();
        assert!(ahead.abs() < 1_000, "{ahead}");
    }
}

#[tokio::test]
async fn a_folder_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_sqlite(folder.path()).await.unwrap();
    let error = open_sqlite(folder.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::InUse(_)), "{error}");
    assert!(error.to_string().contains("in use by another process"));
    db.close().await;
    drop(db);
    open_sqlite(folder.path()).await.unwrap();
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_sqlite(folder.path()).await.unwrap();
    db.write(
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
         values (9999, 'of the future', true, $1, 0)",
    )
    .bind(vec![0_u8])
    .execute()
    .await
    .unwrap();
    db.close().await;
    drop(db);
    let error = open_sqlite(folder.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::Newer(9999)), "{error}");
}

#[tokio::test]
async fn readers_cannot_write() {
    let test = TestDb::sqlite().await;
    let outcome = test.db.read("delete from account").execute().await;
    assert!(matches!(outcome, Err(DbError::Store(StoreError::Unavailable(_)))), "{outcome:?}");
}

async fn a_late_transaction_is_one(db: &Db) {
    let add = "insert into command_nonce (user_id, op, nonce, result, created_at) values ($1, $2, $3, '', $4)";
    let user_id = UserId::new();
    let write = async |tx: &mut Tx, nonces: &[&str]| {
        tx.each(add, nonces, |query, nonce| query.bind(user_id).bind("op").bind(*nonce).bind(1_i64)).await
    };
    let count = async || {
        let query = db.read("select count(*) from command_nonce where user_id = $1").bind(user_id);
        query.one::<(i64,)>().await.unwrap().0
    };
    let mut tx = db.begin_late().await.unwrap();
    write(&mut tx, &["a", "b"]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(count().await, 2);
    // All of it or nothing, and the next one is not disturbed.
    let mut tx = db.begin_late().await.unwrap();
    let outcome = match write(&mut tx, &["c", "a"]).await {
        Ok(()) => tx.commit().await,
        refused => refused,
    };
    assert!(matches!(outcome, Err(DbError::Unique)), "{outcome:?}");
    assert_eq!(count().await, 2);
    // What was written before something was read is seen by it, and goes with it.
    let mut tx = db.begin_late().await.unwrap();
    write(&mut tx, &["c"]).await.unwrap();
    let sql = "select count(*) from command_nonce where user_id = $1";
    let (seen,): (i64,) = tx.query(sql).bind(user_id).one().await.unwrap();
    assert_eq!(seen, 3);
    drop(tx);
    assert_eq!(count().await, 2);
    let mut tx = db.begin_late().await.unwrap();
    write(&mut tx, &["c"]).await.unwrap();
    drop(tx);
    assert_eq!(count().await, 2);
}

#[tokio::test]
async fn a_late_transaction_is_one_in_sqlite() {
    a_late_transaction_is_one(&TestDb::sqlite().await.db).await;
}

#[tokio::test]
async fn a_late_transaction_is_one_in_postgres() {
    if let Some(test) = TestDb::postgres().await {
        a_late_transaction_is_one(&test.db).await;
    }
}

#[tokio::test]
async fn whoever_writes_to_a_file_takes_turns() {
    let test = TestDb::sqlite().await;
    let db = &test.db;
    let mut tx = db.begin().await.unwrap();
    tx.query("delete from command_nonce").execute().await.unwrap();
    let mut late = db.begin_late().await.unwrap();
    late.each("delete from account where user_id = $1", &[UserId::new()], |query, user_id| query.bind(*user_id))
        .await
        .unwrap();
    let mut commit = std::pin::pin!(late.commit());
    let early = tokio::time::timeout(std::time::Duration::from_millis(50), commit.as_mut()).await;
    assert!(early.is_err(), "it did not wait for its turn");
    tx.commit().await.unwrap();
    commit.await.unwrap();
}
