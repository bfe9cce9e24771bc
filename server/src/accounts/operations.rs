//! `session.list`, `session.revoke`, `user.get`, `user.search`, `user.update`.

use parlour_protocol::{
    ErrorCode, ProtocolError,
    object::{Empty, Items, Page, Session, User},
    operation::{SessionList, SessionRevoke, UserGet, UserReply, UserSearch, UserUpdate},
};

use crate::{accounts::caller::Caller, app::AppState};

macro_rules! later {
    ($($name:ident: $data:ty => $reply:ty;)*) => { $(
        #[expect(clippy::unused_async, reason = "asks the directory")]
        pub(crate) async fn $name(_: &AppState, _: &Caller, _: $data) -> Result<$reply, ProtocolError> {
            Err(ProtocolError::new(ErrorCode::Unsupported, "not built yet"))
        }
    )* };
}

later! {
    session_list: SessionList => Items<Session>;
    session_revoke: SessionRevoke => Empty;
    user_get: UserGet => Items<User>;
    user_search: UserSearch => Page<User>;
    user_update: UserUpdate => UserReply;
}
