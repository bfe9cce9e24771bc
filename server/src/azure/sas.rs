//! Shared access signatures: the query of an address that is good for one thing, until it expires.

use std::fmt::Write;

use parlour_protocol::Timestamp;

use super::StorageAccount;

/// The version of the service whose rules the signatures follow.
pub(crate) const VERSION: &str = "2019-12-12";

/// What the service says of a blob that is fetched, whatever was said when it was brought.
#[derive(Debug, Clone, Default)]
pub(crate) struct Headers {
    /// `Cache-Control`.
    pub(crate) caching: &'static str,
    /// `Content-Disposition`.
    pub(crate) disposition: String,
    /// `Content-Type`.
    pub(crate) mimetype: String,
}

/// What may be done with a container.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContainerRight {
    /// Make it.
    Create,
}

/// The query that permits `rights` (of `r`, `c`, `w`, `d`) on a blob.
pub(crate) fn blob_query(
    account: &StorageAccount,
    container: &str,
    blob: &str,
    rights: &str,
    expires_at: Timestamp,
    headers: &Headers,
) -> String {
    let (expires, protocol) = (moment(expires_at), protocol(account));
    let name = &account.name;
    let Headers { caching, disposition, mimetype } = headers;
    let resource = format!("/blob/{name}/{container}/{blob}");
    // Rights, start, expiry, resource, policy, addresses, protocol, version, kind, snapshot, and the headers:
    // caching, disposition, encoding, language, type.
    let text =
        [rights, "", &expires, &resource, "", "", protocol, VERSION, "b", "", caching, disposition, "", "", mimetype]
            .join("\n");
    query(&[
        ("sv", VERSION),
        ("sr", "b"),
        ("sp", rights),
        ("se", &expires),
        ("spr", protocol),
        ("rscc", caching),
        ("rscd", disposition),
        ("rsct", mimetype),
        ("sig", &account.sign(&text)),
    ])
}

/// The query that permits something with containers of the account.
pub(crate) fn container_query(account: &StorageAccount, right: ContainerRight, expires_at: Timestamp) -> String {
    let ContainerRight::Create = right;
    let (expires, protocol) = (moment(expires_at), protocol(account));
    // Account, rights, services, kinds, start, expiry, addresses, protocol, version.
    let text = [&account.name, "cw", "b", "c", "", &expires, "", protocol, VERSION, ""].join("\n");
    query(&[
        ("sv", VERSION),
        ("ss", "b"),
        ("srt", "c"),
        ("sp", "cw"),
        ("se", &expires),
        ("spr", protocol),
        ("sig", &account.sign(&text)),
    ])
}

/// Empty is both.
fn protocol(account: &StorageAccount) -> &'static str {
    if account.is_https() { "https" } else { "" }
}

fn moment(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Values percent-encoded, so that a space is none that a form would write; empty ones left out.
fn query(values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in values.iter().filter(|(_, value)| !value.is_empty()) {
        let separator = if text.is_empty() { "" } else { "&" };
        write!(text, "{separator}{name}=").expect("writing to a string cannot fail");
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                text.push(char::from(byte));
            } else {
                write!(text, "%{byte:02X}").expect("writing to a string cannot fail");
            }
        }
    }
    text
}
