//! Web push addresses: the browsers that are told when nobody looks.
//!
//! Whom a message is told to is decided in `notifications`; `sender` is the way to a push service.

pub(crate) mod sender;
pub(crate) mod vapid;

use std::{sync::Arc, time::Duration};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use parlour_protocol::{
    ProtocolError, Timestamp,
    object::{Empty, Items, PushSubscription},
    operation::{PushKey, PushKeyReply, PushList, PushSubscribe, PushSubscriptionReply, PushUnsubscribe},
};
use tokio::{net, time};
use url::{Host, Url};
use web_push_native::p256::PublicKey;

use self::vapid::Vapid;
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{self, push::NewSubscription},
    error::store_error,
    notifications::Outbox,
    previews::address::AddressPolicy,
};

/// How long the name of an endpoint is looked up; one that is not found now is looked up again at each push.
const LOOK_UP: Duration = Duration::from_secs(2);
/// Browsers write base64url with or without padding.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_encode_padding(false).with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What the operations need.
#[derive(Debug)]
pub(crate) struct Push {
    pub(crate) vapid: Arc<Vapid>,
    pub(crate) policy: AddressPolicy,
    pub(crate) outbox: Arc<Outbox>,
}

/// `push.key`.
#[expect(clippy::unused_async, reason = "operations have one form")]
pub(crate) async fn key(state: &AppState, _: &Caller, _: PushKey) -> Result<PushKeyReply, ProtocolError> {
    Ok(PushKeyReply { public_key: state.push.vapid.public_key().to_owned() })
}

/// `push.subscribe`.
///
/// # Errors
/// `bad_request` for an address that is not of the open internet, for keys that are none, and beyond the limit.
pub(crate) async fn subscribe(
    state: &AppState,
    caller: &Caller,
    data: PushSubscribe,
) -> Result<PushSubscriptionReply, ProtocolError> {
    let endpoint = check_endpoint(&state.push.policy, data.endpoint.as_str()).await?;
    let p256dh = decode(data.keys.p256dh.expose());
    let p256dh = p256dh.filter(|key| key.len() == 65 && PublicKey::from_sec1_bytes(key).is_ok());
    let p256dh = p256dh.ok_or_else(|| ProtocolError::bad_field("/keys/p256dh", "must be a P-256 public key"))?;
    let auth = decode(data.keys.auth.expose()).filter(|auth| auth.len() == 16);
    let auth = auth.ok_or_else(|| ProtocolError::bad_field("/keys/auth", "must be 16 bytes"))?;
    let new = NewSubscription {
        user_id: caller.user_id,
        session_id: caller.session_id,
        endpoint: endpoint.into(),
        p256dh,
        auth,
        expires_at: data.expiration_time.apply(None),
    };
    let most = state.limits.push_subscriptions;
    // Before it is there: the next message may be for it.
    state.push.outbox.wanted();
    let subscription = directory::push::put(&state.db, new, most, Timestamp::now()).await;
    let subscription = subscription.map_err(|error| store_error(error.into()))?;
    let subscription = subscription
        .ok_or_else(|| ProtocolError::bad_request(format!("there are {most} push addresses already, the most")))?;
    Ok(PushSubscriptionReply { subscription })
}

/// `push.unsubscribe`.
///
/// # Errors
/// `not_found`.
pub(crate) async fn unsubscribe(
    state: &AppState,
    caller: &Caller,
    data: PushUnsubscribe,
) -> Result<Empty, ProtocolError> {
    let endpoint = Url::parse(data.endpoint.as_str()).map(String::from).unwrap_or_default();
    let removed = directory::push::remove(&state.db, caller.user_id, &endpoint).await;
    if !removed.map_err(|error| store_error(error.into()))? {
        return Err(ProtocolError::not_found("no such push address"));
    }
    Ok(Empty {})
}

/// `push.list`.
pub(crate) async fn list(
    state: &AppState,
    caller: &Caller,
    _: PushList,
) -> Result<Items<PushSubscription>, ProtocolError> {
    let items = directory::push::of_user(&state.db, caller.user_id, Timestamp::now()).await.map_err(store_error)?;
    Ok(Items { items })
}

fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

/// The address as it is kept, if pushes may go there.
async fn check_endpoint(policy: &AddressPolicy, endpoint: &str) -> Result<Url, ProtocolError> {
    let refused = |reason: &str| ProtocolError::bad_field("/endpoint", reason.to_owned());
    let url = Url::parse(endpoint).map_err(|_| refused("must be an https address"))?;
    if url.scheme() != "https" || !policy.allows_url(&url) {
        return Err(refused("must be an https address of the open internet"));
    }
    if url.as_str().len() > 2048 {
        return Err(refused("is too long"));
    }
    if let Some(Host::Domain(name)) = url.host() {
        let found = time::timeout(LOOK_UP, net::lookup_host((name, 443))).await;
        if let Ok(Ok(mut found)) = found
            && !found.all(|address| policy.allows(address.ip()))
        {
            return Err(refused("stands for an address that is not of the open internet"));
        }
    }
    Ok(url)
}
