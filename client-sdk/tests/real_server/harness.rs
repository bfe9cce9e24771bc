//! The real server with a data folder of its own, and people on it.

use std::time::Duration;

use parlour_client::{Client, ClientBuilder, auth, protocol::RoomId, protocol::codec::Codec, test_util::ServerProcess};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Real {
    pub(crate) process: ServerProcess,
    _data: tempfile::TempDir,
}

impl Real {
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        let program = std::env::current_exe().unwrap();
        let Some(binary) = ServerProcess::find_binary(&program) else {
            assert!(std::env::var_os("PARLOUR_TEST_REQUIRE_SERVER").is_none(), "the server's binary is not built");
            eprintln!("skipped: the server's binary is not built (cargo build -p parlour-server)");
            return None;
        };
        let data = tempfile::tempdir().unwrap();
        let process = ServerProcess::start(&binary, data.path(), &[settings, &["log_level=warn"]].concat()).unwrap();
        Some(Self { process, _data: data })
    }

    pub(crate) async fn client(&self, name: &str, change: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Client {
        let server = self.process.address();
        if let Err(error) = auth::register(server, name, "correct horse", None).await {
            eprintln!("{name} is registered already: {error}");
        }
        let builder = Client::builder(server).log_in(name, "correct horse").request_deadline(PATIENCE);
        change(builder).connect().await.unwrap()
    }
}

/// Two people in one room.
pub(crate) async fn pair(real: &Real) -> (Client, Client, RoomId) {
    let ada = real.client("ada", |builder| builder.outbox_capacity(5000)).await;
    let bob = real.client("bob", |builder| builder.codec(Codec::MessagePack)).await;
    let room_id = ada.create_room("Tea").await.unwrap().room.room_id;
    let invite = ada.room(room_id).create_invite().await.unwrap();
    bob.join(invite.invite_id).await.unwrap();
    (ada, bob, room_id)
}
