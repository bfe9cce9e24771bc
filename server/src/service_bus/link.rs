//! The links of one connection: to `$cbs` for tokens, to the queue, from the queue.

use std::time::Duration;

use fe2o3_amqp::{
    Delivery, Receiver, Sender, Session,
    connection::ConnectionHandle,
    link::delivery::DeliveryInfo,
    session::SessionHandle,
    types::{
        definitions::{ReceiverSettleMode, SenderSettleMode},
        messaging::{
            AmqpValue, ApplicationProperties, Body, Data, Message, MessageAnnotations, Modified, Outcome, Properties,
        },
        primitives::{Binary, SimpleValue, Symbol, Timestamp as AmqpTimestamp, Value},
    },
};
use futures_util::future::try_join_all;
use parlour_protocol::Timestamp;
use tokio::time::Instant;

use super::{ConnectionString, Planned, ServiceBusError, connection::connect, token};

/// How long a token is good, and when it is renewed.
const TOKEN: Duration = Duration::from_secs(3600);
const RENEW: Duration = Duration::from_secs(2400);
/// How much the service may send ahead.
const CREDIT: u32 = 32;
/// Where the answers of `$cbs` go.
const ANSWERS: &str = "parlour-cbs";

/// What was received and is locked.
pub(super) type Locked = DeliveryInfo;

pub(super) struct Link {
    // In this order they are dropped: links before their session, that before its connection.
    asker: Sender,
    answers: Receiver,
    sender: Sender,
    receiver: Receiver,
    _session: SessionHandle<()>,
    connection: ConnectionHandle<()>,
    renew_at: Instant,
}

impl Link {
    pub(super) async fn open(service: &ConnectionString) -> Result<Self, ServiceBusError> {
        let mut connection = connect(service).await?;
        let mut session = Session::begin(&mut connection).await.map_err(lost)?;
        let mut asker = Sender::attach(&mut session, "parlour-cbs-out", "$cbs").await.map_err(lost)?;
        let answers = Receiver::builder().name("parlour-cbs-in").source("$cbs").target(ANSWERS);
        let mut answers = answers.attach(&mut session).await.map_err(lost)?;
        put_token(&mut asker, &mut answers, service).await?;
        let sender = Sender::attach(&mut session, "parlour-out", service.queue()).await.map_err(refused)?;
        let receiver = Receiver::builder()
            .name("parlour-in")
            .source(service.queue())
            .sender_settle_mode(SenderSettleMode::Unsettled)
            // What is locked is settled by the service, when it has been told what became of it.
            .receiver_settle_mode(ReceiverSettleMode::Second)
            .credit_mode(fe2o3_amqp::link::receiver::CreditMode::Auto(CREDIT))
            .attach(&mut session)
            .await
            .map_err(refused)?;
        let renew_at = Instant::now() + RENEW;
        Ok(Self { asker, answers, sender, receiver, _session: session, connection, renew_at })
    }

    /// When the token is to be renewed.
    pub(super) fn renew_at(&self) -> Instant {
        self.renew_at
    }

    pub(super) async fn renew(&mut self, service: &ConnectionString) -> Result<(), ServiceBusError> {
        put_token(&mut self.asker, &mut self.answers, service).await?;
        self.renew_at = Instant::now() + RENEW;
        Ok(())
    }

    /// Puts texts on the queue, all at once, and waits until the service has them all.
    pub(super) async fn send(&mut self, batch: &[Planned]) -> Result<(), ServiceBusError> {
        // Outcomes do not come any more when the connection is lost, and nothing else says so.
        tokio::select! {
            sent = send(&mut self.sender, batch) => sent,
            closed = self.connection.on_close() => Err(ServiceBusError::Unreachable(format!("{closed:?}"))),
        }
    }

    /// The next text that comes out of the queue. Nothing is lost when this is given up.
    pub(super) async fn receive(&mut self) -> Result<(String, Locked), ServiceBusError> {
        let delivery: Delivery<Body<Value>> = self.receiver.recv().await.map_err(lost)?;
        let (locked, message) = delivery.into_parts();
        let text = match message.body {
            Body::Data(data) => data.into_iter().flat_map(|Data(bytes)| bytes.into_vec()).collect(),
            Body::Value(AmqpValue(Value::String(text))) => text.into_bytes(),
            _ => Vec::new(),
        };
        Ok((String::from_utf8_lossy(&text).into_owned(), locked))
    }

    pub(super) async fn complete(&self, locked: Locked) -> Result<(), ServiceBusError> {
        self.receiver.accept(locked).await.map_err(lost)
    }

    pub(super) async fn abandon(&self, locked: Locked) -> Result<(), ServiceBusError> {
        let again =
            Modified { delivery_failed: Some(true), undeliverable_here: Some(false), message_annotations: None };
        self.receiver.modify(locked, again).await.map_err(lost)
    }

    /// Ends the connection; what is locked comes again when its lock has ended.
    pub(super) async fn close(mut self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "the connection to Service Bus had ended");
        }
    }
}

async fn send(sender: &mut Sender, batch: &[Planned]) -> Result<(), ServiceBusError> {
    let mut outcomes = Vec::with_capacity(batch.len());
    for planned in batch {
        outcomes.push(sender.send_batchable(message(planned)).await.map_err(lost)?);
    }
    let outcomes = try_join_all(outcomes).await.map_err(lost)?;
    match outcomes.iter().find(|outcome| !matches!(outcome, Outcome::Accepted(_))) {
        Some(outcome) => Err(ServiceBusError::Refused(format!("{outcome:?}"))),
        None => Ok(()),
    }
}

/// Shows the service a token for the queue.
async fn put_token(
    asker: &mut Sender,
    answers: &mut Receiver,
    service: &ConnectionString,
) -> Result<(), ServiceBusError> {
    let until = Timestamp::now().as_millis() / 1000 + i64::try_from(TOKEN.as_secs()).unwrap_or(0);
    let properties = Properties::builder().message_id("parlour-token".to_owned()).reply_to(ANSWERS.to_owned()).build();
    let asked = ApplicationProperties::builder()
        .insert("operation", "put-token")
        .insert("type", "servicebus.windows.net:sastoken")
        .insert("name", service.audience())
        .build();
    let message = Message::builder()
        .properties(properties)
        .application_properties(asked)
        .value(token::sign(service, until))
        .build();
    asker.send(message).await.map_err(lost)?;
    let answer: Delivery<Body<Value>> = answers.recv().await.map_err(lost)?;
    answers.accept(&answer).await.map_err(lost)?;
    let said = answer.message().application_properties.as_ref();
    let code = said.and_then(|said| said.get("status-code")).and_then(|code| match code {
        SimpleValue::Int(code) => Some(*code),
        _ => None,
    });
    if code.is_some_and(|code| (200..300).contains(&code)) {
        return Ok(());
    }
    let why = said.and_then(|said| said.get("status-description"));
    Err(ServiceBusError::Refused(format!("the token: {code:?} {why:?}")))
}

fn message(planned: &Planned) -> Message<Data> {
    let at = Value::Timestamp(AmqpTimestamp::from_milliseconds(planned.at.as_millis()));
    let annotations = MessageAnnotations::builder().insert(Symbol::from("x-opt-scheduled-enqueue-time"), at).build();
    let id = format!("{}@{}", planned.text, planned.at.as_millis());
    Message::builder()
        .message_annotations(annotations)
        .properties(Properties::builder().message_id(id).content_type(Symbol::from("application/json")).build())
        .data(Binary::from(planned.text.clone().into_bytes()))
        .build()
}

fn lost(error: impl std::fmt::Display) -> ServiceBusError {
    ServiceBusError::Unreachable(error.to_string())
}

/// To attach is refused for want of the queue, or of the right to it.
fn refused(error: impl std::fmt::Display) -> ServiceBusError {
    ServiceBusError::Refused(error.to_string())
}
