//! The connection string that the Azure portal shows.

use parlour_protocol::Secret;

/// Where the service is, and the key to it.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionString {
    pub(super) host: String,
    pub(super) port: u16,
    /// Whether it is an emulator: no TLS.
    pub(super) is_plain: bool,
    pub(super) key_name: String,
    pub(super) key: Secret,
    queue: String,
}

impl ConnectionString {
    /// Reads a connection string. The queue may be part of it (`EntityPath`).
    ///
    /// # Errors
    /// Says what is wrong with it, without the key.
    pub(crate) fn parse(text: &str, queue: &str) -> Result<Self, &'static str> {
        let part = |wanted: &str| {
            let mut parts = text.split(';').filter_map(|part| part.split_once('='));
            parts.find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
        };
        let endpoint = part("Endpoint").ok_or("has no Endpoint")?;
        let address = endpoint.strip_prefix("sb://").ok_or("its Endpoint does not begin with sb://")?;
        let address = address.trim_end_matches('/');
        let is_plain = part("UseDevelopmentEmulator").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| "the port of its Endpoint is none")?),
            None => (address, if is_plain { 5672 } else { 5671 }),
        };
        let queue = part("EntityPath").unwrap_or(queue);
        if host.is_empty() || queue.is_empty() {
            return Err(if host.is_empty() { "its Endpoint has no host" } else { "names no queue" });
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            is_plain,
            key_name: part("SharedAccessKeyName").ok_or("has no SharedAccessKeyName")?.to_owned(),
            key: Secret::new(part("SharedAccessKey").ok_or("has no SharedAccessKey")?),
            queue: queue.to_owned(),
        })
    }

    /// The queue.
    pub(crate) fn queue(&self) -> &str {
        &self.queue
    }

    /// What a token is for.
    pub(super) fn audience(&self) -> String {
        format!("sb://{}/{}", self.host, self.queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AZURE: &str =
        "Endpoint=sb://tea.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=c2VjcmV0PQ==";

    #[test]
    fn the_portals_string_is_read() {
        let read = ConnectionString::parse(AZURE, "wake-ups").unwrap();
        assert_eq!((read.host.as_str(), read.port, read.is_plain), ("tea.servicebus.windows.net", 5671, false));
        assert_eq!((read.key_name.as_str(), read.key.expose()), ("Root", "c2VjcmV0PQ=="));
        assert_eq!(read.audience(), "sb://tea.servicebus.windows.net/wake-ups");
        assert!(!format!("{read:?}").contains("c2VjcmV0"));
    }

    #[test]
    fn an_emulator_has_no_tls_and_may_have_a_port_and_a_queue() {
        let text = "Endpoint=sb://127.0.0.1:5999;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true;EntityPath=q";
        let read = ConnectionString::parse(text, "other").unwrap();
        assert_eq!((read.port, read.is_plain, read.queue()), (5999, true, "q"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, queue) in [
            ("", "q"),
            ("Endpoint=https://tea", "q"),
            ("Endpoint=sb://tea:x;SharedAccessKeyName=a;SharedAccessKey=b", "q"),
            ("Endpoint=sb://;SharedAccessKeyName=a;SharedAccessKey=b", "q"),
            ("Endpoint=sb://tea;SharedAccessKeyName=a", "q"),
            (AZURE, ""),
        ] {
            assert!(ConnectionString::parse(text, queue).is_err(), "{text}");
        }
    }
}
