//! The connection: TCP, TLS but for an emulator, and AMQP over it.

use std::sync::Arc;

use fe2o3_amqp::{Connection, connection::ConnectionHandle, sasl_profile::SaslProfile};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, crypto::ring, pki_types::ServerName},
};

use super::{ConnectionString, ServiceBusError};

/// Without a word for so long, in ms, either side ends the connection.
const IDLE_MS: u32 = 60_000;

pub(super) async fn connect(service: &ConnectionString) -> Result<ConnectionHandle<()>, ServiceBusError> {
    let unreachable = |error: &dyn std::fmt::Display| ServiceBusError::Unreachable(error.to_string());
    let socket =
        TcpStream::connect((service.host.as_str(), service.port)).await.map_err(|error| unreachable(&error))?;
    socket.set_nodelay(true).map_err(|error| unreachable(&error))?;
    let builder = Connection::builder()
        .container_id(format!("parlour-{}", uuid::Uuid::new_v4().simple()))
        .hostname(service.host.as_str())
        .idle_time_out(IDLE_MS)
        .sasl_profile(SaslProfile::Anonymous);
    let opened = if service.is_plain {
        builder.open_with_stream(socket).await
    } else {
        let name = ServerName::try_from(service.host.clone()).map_err(|error| unreachable(&error))?;
        let secure = tls()?.connect(name, socket).await.map_err(|error| unreachable(&error))?;
        builder.open_with_stream(secure).await
    };
    opened.map_err(|error| unreachable(&error))
}

fn tls() -> Result<TlsConnector, ServiceBusError> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| ServiceBusError::Unreachable(error.to_string()))?;
    Ok(TlsConnector::from(Arc::new(config.with_no_client_auth())))
}
