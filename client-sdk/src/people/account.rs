//! One's own account: name, picture, words about oneself, and where pushes go.

use bytes::Bytes;
use parlour_protocol::{
    Name, Patch, Secret, Text, Timestamp,
    object::{PushSubscription, User},
    operation::{PushKey, PushKeys, PushList, PushSubscribe, PushUnsubscribe, UserUpdate},
};

use crate::{client::Client, error::RequestError, transfer};

impl Client {
    /// Gives the account another name.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn rename(&self, name: &str) -> Result<User, RequestError> {
        self.update_account(Some(Name::new(name)?), Patch::Keep, Patch::Keep).await
    }

    /// Gives the account a picture.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn set_picture(&self, mimetype: &str, image: Bytes) -> Result<User, RequestError> {
        let image = transfer::public_image(self, None, mimetype, image).await?;
        self.update_account(None, Patch::Set(Text::new(image)?), Patch::Keep).await
    }

    /// Takes the account's picture away.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn remove_picture(&self) -> Result<User, RequestError> {
        self.update_account(None, Patch::Clear, Patch::Keep).await
    }

    /// Says a few words about oneself; nothing when they are empty.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn set_biography(&self, words: &str) -> Result<User, RequestError> {
        let biography = if words.is_empty() { Patch::Clear } else { Patch::Set(Text::new(words)?) };
        self.update_account(None, Patch::Keep, biography).await
    }

    async fn update_account(
        &self,
        name: Option<Name<1, 100>>,
        image: Patch<Text<0, 2048>>,
        biography: Patch<Text<0, 160>>,
    ) -> Result<User, RequestError> {
        self.request(UserUpdate { name, image, biography }).await.map(|reply| reply.user)
    }

    /// The key that the server signs its pushes with (VAPID, base64url): a browser or a push service is
    /// subscribed with it.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn push_key(&self) -> Result<String, RequestError> {
        self.request(PushKey {}).await.map(|reply| reply.public_key)
    }

    /// Has notifications pushed to an address of a push service, encrypted for its keys (base64url), until
    /// the session ends. The same address again replaces the keys.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn subscribe_push(
        &self,
        endpoint: &str,
        p256dh: &str,
        auth: &str,
        until: Option<Timestamp>,
    ) -> Result<PushSubscription, RequestError> {
        let keys = PushKeys { auth: Secret::new(auth), p256dh: Secret::new(p256dh) };
        let expiration_time = until.map_or(Patch::Keep, Patch::Set);
        let subscribe = PushSubscribe { endpoint: Text::new(endpoint)?, keys, expiration_time };
        self.request(subscribe).await.map(|reply| reply.subscription)
    }

    /// Ends pushes to an address.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn unsubscribe_push(&self, endpoint: &str) -> Result<(), RequestError> {
        self.request(PushUnsubscribe { endpoint: Text::new(endpoint)? }).await.map(drop)
    }

    /// Where notifications are pushed to.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn push_subscriptions(&self) -> Result<Vec<PushSubscription>, RequestError> {
        self.request(PushList {}).await.map(|list| list.items)
    }
}
