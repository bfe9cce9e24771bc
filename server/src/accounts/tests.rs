//! Accounts over both databases.

use std::sync::Mutex;

use parlour_protocol::{
    Name, Patch, Secret, Text,
    account::{Login, PasswordChange, Register},
};

use super::{caller::Caller, register::LoggedIn, *};
use crate::{
    bus::in_process::InProcessBus,
    config::{Flag, Settings},
    directory::accounts::AccountPatch,
    store::testing::TestDb,
};

const PASSWORD: &str = "correct horse battery";
const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

struct Bench {
    test: TestDb,
    accounts: Accounts,
    forgotten: Arc<Mutex<Vec<UserId>>>,
}

impl Bench {
    fn over(test: TestDb) -> Self {
        let flag =
            |name: &str, value: &str| Flag { flag: String::new(), name: name.to_owned(), value: value.to_owned() };
        let flags = [
            flag("rates.auth.points", "1000"),
            flag("jwt.issuer", "https://id.example"),
            flag("jwt.audience", "parlour"),
            flag("jwt.secret", "a secret that both sides know well"),
        ];
        let config = Config::new(&Settings::load(None, &flags, []).unwrap()).unwrap();
        let rates = Arc::new(Rates::new(&config.limits.rates));
        let forgotten = Arc::<Mutex<Vec<UserId>>>::default();
        let told = Arc::clone(&forgotten);
        let forget: ForgetAccount = Box::new(move |user_id| told.lock().unwrap().push(user_id));
        let bus = Arc::new(InProcessBus::new());
        let accounts = Accounts::new(&config, test.db.clone(), bus, rates, forget).unwrap();
        Self { test, accounts, forgotten }
    }

    async fn register(&self, name: &str) -> LoggedIn {
        let password = parlour_protocol::account::Password::new(PASSWORD).unwrap();
        let data = Register { name: Name::new(name).unwrap(), password, invite: None, cookie: None };
        self.accounts.register(&data, HERE).await.unwrap()
    }

    async fn log_in(&self, name: &str, password: &str) -> Result<LoggedIn, AccountError> {
        let data = Login { name: Text::new(name).unwrap(), password: Secret::new(password), cookie: None };
        self.accounts.log_in(&data, HERE).await
    }

    async fn caller(&self, token: &Secret) -> Option<Caller> {
        let principal = self.accounts.authenticate(token.expose(), HERE).await.ok()?;
        Some(Caller::new(&principal, None, HERE))
    }
}

async fn passwords_and_sessions(bench: &Bench) {
    let first = bench.register("Ada").await;
    let second = bench.log_in("ADA", PASSWORD).await.unwrap();
    let caller = bench.caller(&first.token).await.unwrap();
    assert_eq!(bench.accounts.sessions(&caller).await.unwrap().len(), 2);
    let renewed = bench.accounts.refresh(&caller).await.unwrap();
    assert!(bench.caller(&first.token).await.is_some() && bench.caller(&renewed.token).await.is_some());
    let change = PasswordChange {
        password: Secret::new(PASSWORD),
        new_password: parlour_protocol::account::Password::new("another long password").unwrap(),
    };
    bench.accounts.change_password(&caller, &change).await.unwrap();
    assert!(bench.caller(&second.token).await.is_none() && bench.caller(&renewed.token).await.is_some());
    assert!(bench.log_in("ada", PASSWORD).await.is_err());
    bench.accounts.note_client(&bench.accounts.check(renewed.token.expose(), HERE).await.unwrap(), None, HERE);
    bench.accounts.write_sightings().await;
    bench.accounts.end_session(&caller, caller.session_id).await.unwrap();
    assert!(matches!(bench.accounts.end_session(&caller, caller.session_id).await, Err(AccountError::NotFound)));
    assert!(bench.caller(&renewed.token).await.is_none());
    let later = Timestamp::now().plus_millis(1000);
    assert_eq!(directory::sessions::remove_old(&bench.test.db, later, 100).await.unwrap(), 2);
}

async fn names_and_search(bench: &Bench) {
    let ada = bench.register("Straße 1").await;
    bench.register("strasse 2").await;
    bench.register("STRASSE_3").await;
    let password = parlour_protocol::account::Password::new(PASSWORD).unwrap();
    let twin = Register { name: Name::new("STRASSE 1").unwrap(), password, invite: None, cookie: None };
    assert!(matches!(bench.accounts.register(&twin, HERE).await, Err(AccountError::NameTaken)));
    let db = &bench.test.db;
    let search = async |prefix: &str, after| {
        let found = directory::accounts::search(db, prefix, ada.user.user_id, after, 10).await.unwrap();
        found.into_iter().map(|user| user.name).collect::<Vec<_>>()
    };
    assert_eq!(search("strasse", None).await.len(), 2);
    assert_eq!(search("strasse_", None).await, ["STRASSE_3"]);
    let first = directory::accounts::search(db, "strasse", ada.user.user_id, None, 1).await.unwrap();
    assert_eq!(search("strasse", Some(first[0].user_id)).await.len(), 1);
    let name = names::stored("Ada").unwrap();
    let patch = AccountPatch { name: Some(&name), image: Patch::Keep, biography: Patch::Set("b".to_owned()) };
    let (user, changed) =
        directory::accounts::update(db, ada.user.user_id, patch, Timestamp::now()).await.unwrap().unwrap();
    assert!(changed && user.name == "Ada" && user.biography == "b");
    let name = names::stored("STRASSE 2").unwrap();
    let patch = AccountPatch { name: Some(&name), image: Patch::Keep, biography: Patch::Keep };
    let taken = directory::accounts::update(db, ada.user.user_id, patch, Timestamp::now()).await;
    assert!(matches!(taken, Err(DbError::Unique)));
    let invite = "ABCDEFGH".parse().unwrap();
    assert!(!directory::accounts::is_usable_invite(db, invite, Timestamp::now()).await.unwrap());
}

async fn the_feed_of_changes(bench: &Bench) {
    let db = &bench.test.db;
    let ada = bench.register("Ada").await;
    assert!(bench.caller(&ada.token).await.is_some());
    let begin = directory::account_changes::head(db).await.unwrap();
    act_on_account(db, "ada", AccountAction::Disable).await.unwrap();
    act_on_account(db, "ada", AccountAction::Enable).await.unwrap();
    let changes = directory::account_changes::after(db, begin).await.unwrap();
    let seqs: Vec<i64> = changes.iter().map(|change| change.seq).collect();
    assert_eq!(seqs, [begin + 1, begin + 2, begin + 3], "the session, the account, the account again");
    assert_eq!(changes[0].session_id, Some(ada.session_id));
    assert!(changes[1].ended && !changes[2].ended);
    assert_eq!(directory::account_changes::head(db).await.unwrap(), begin + 3);
    for change in &changes {
        bench.accounts.take_in(change);
    }
    assert!(bench.caller(&ada.token).await.is_none());
    assert_eq!(*bench.forgotten.lock().unwrap(), [ada.user.user_id, ada.user.user_id]);
    act_on_account(db, "ada", AccountAction::Delete).await.unwrap();
    assert!(matches!(act_on_account(db, "ada", AccountAction::Delete).await, Err(AccountError::NoAccount(_))));
    let deleted = directory::accounts::user(db, ada.user.user_id).await.unwrap().unwrap();
    assert!(deleted.is_deleted && deleted.name == "deleted user");
    let eve = bench.register("ada").await;
    let sql = "select is_operator from account where user_id = $1";
    let (is_operator,): (bool,) = db.read(sql).bind(eve.user.user_id).one().await.unwrap();
    assert!(!is_operator, "the operator's place is given once");
}

async fn a_token_of_a_provider(bench: &Bench) {
    let claims = serde_json::json!({
        "iss": "https://id.example", "aud": "parlour", "sub": "ada", "sid": "s", "name": "Ada",
        "exp": Timestamp::now().as_millis() / 1000 + 600
    });
    let key = jsonwebtoken::EncodingKey::from_secret(b"a secret that both sides know well").unwrap();
    let token = Secret::new(jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap());
    let (one, other) = tokio::join!(bench.caller(&token), bench.caller(&token));
    let caller = one.unwrap();
    assert!(caller.is_foreign && caller.user_id == other.unwrap().user_id);
    bench.accounts.end_session(&caller, caller.session_id).await.unwrap();
    assert!(bench.caller(&token).await.is_none());
    let later = Timestamp::now().plus_millis(3_600_000);
    assert_eq!(directory::sessions::remove_old(&bench.test.db, later, 100).await.unwrap(), 0, "its end is remembered");
}

async fn everybody_at_once(bench: &Bench) {
    let names: Vec<String> = (0..6).map(|number| format!("user{number}")).collect();
    let all = futures_util::future::join_all(names.iter().map(|name| bench.register(name))).await;
    let sql = "select count(*) from account where is_operator";
    let (operators,): (i64,) = bench.test.db.read(sql).one().await.unwrap();
    assert_eq!((all.len(), operators), (6, 1));
}

macro_rules! on_both {
    ($($name:ident)*) => {
        mod sqlite {
            use super::*;
            $( #[tokio::test] async fn $name() {
                super::$name(&Bench::over(TestDb::sqlite().await)).await;
            } )*
        }

        mod postgres {
            use super::*;
            $( #[tokio::test] async fn $name() {
                if let Some(test) = TestDb::postgres().await {
                    super::$name(&Bench::over(test)).await;
                }
            } )*
        }
    };
}

on_both! { passwords_and_sessions names_and_search the_feed_of_changes a_token_of_a_provider everybody_at_once }
