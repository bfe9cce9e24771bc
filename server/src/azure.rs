//! Azure's storage: whose account, and addresses that it signed.

mod sas;

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub(crate) use self::sas::{ContainerRight, Headers, blob_query, container_query};

/// A storage account, as its connection string tells.
#[derive(Clone)]
pub(crate) struct StorageAccount {
    /// Its name.
    pub(crate) name: String,
    key: Vec<u8>,
    /// Where its blobs are, without a slash at the end.
    pub(crate) blobs: String,
    /// Where its tables are, without a slash at the end.
    pub(crate) tables: String,
}

impl fmt::Debug for StorageAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageAccount")
            .field("name", &self.name)
            .field("blobs", &self.blobs)
            .field("tables", &self.tables)
            .finish_non_exhaustive()
    }
}

impl StorageAccount {
    /// Reads a connection string, as Azure's portal shows it.
    ///
    /// # Errors
    /// With what is wrong, for people.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut known = [
            ("AccountName", None),
            ("AccountKey", None),
            ("BlobEndpoint", None),
            ("TableEndpoint", None),
            ("DefaultEndpointsProtocol", None),
            ("EndpointSuffix", None),
        ];
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or("must be a connection string: Name=Value parts with semicolons between")?;
            if let Some((_, place)) = known.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
                *place = Some(value);
            }
        }
        let [name, key, blobs, tables, protocol, suffix] = known.map(|(_, value)| value);
        let name = name.filter(|name| !name.is_empty()).ok_or("has no AccountName")?.to_owned();
        let key =
            STANDARD.decode(key.ok_or("has no AccountKey")?).map_err(|_| "has an AccountKey that is not base64")?;
        let (protocol, suffix) = (protocol.unwrap_or("https"), suffix.unwrap_or("core.windows.net"));
        let endpoint = |given: Option<&str>, service: &str| {
            let usual = || format!("{protocol}://{name}.{service}.{suffix}");
            let address = given.map_or_else(usual, |given| given.trim_end_matches('/').to_owned());
            match url::Url::parse(&address) {
                Ok(url) if matches!(url.scheme(), "https" | "http") && url.query().is_none() => Ok(address),
                _ => Err(format!("has an endpoint that is no address: {address}")),
            }
        };
        Ok(Self { blobs: endpoint(blobs, "blob")?, tables: endpoint(tables, "table")?, name: name.clone(), key })
    }

    /// The code of a text that only holders of the key can make.
    pub(crate) fn sign(&self, text: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length will do");
        mac.update(text.as_bytes());
        STANDARD.encode(mac.finalize().into_bytes())
    }

    /// Whether addresses of blobs work over TLS alone.
    fn is_https(&self) -> bool {
        self.blobs.starts_with("https://")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_names_account_and_endpoints() {
        let text = "DefaultEndpointsProtocol=https;AccountName=tea;AccountKey=a2V5;EndpointSuffix=core.windows.net";
        let account = StorageAccount::parse(text).unwrap();
        assert_eq!((account.name.as_str(), account.blobs.as_str()), ("tea", "https://tea.blob.core.windows.net"));
        assert_eq!(account.tables, "https://tea.table.core.windows.net");
        let text =
            "AccountName=dev;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:1/dev/;TableEndpoint=http://127.0.0.1:2/dev";
        let account = StorageAccount::parse(text).unwrap();
        assert_eq!(
            (account.blobs.as_str(), account.tables.as_str()),
            ("http://127.0.0.1:1/dev", "http://127.0.0.1:2/dev")
        );
        assert!(!format!("{account:?}").contains("a2V5"), "the key is not shown");
    }

    #[test]
    fn what_is_wrong_with_a_connection_string_is_told() {
        for (text, reason) in [
            ("tea", "must be a connection string"),
            ("AccountKey=a2V5", "has no AccountName"),
            ("AccountName=tea", "has no AccountKey"),
            ("AccountName=tea;AccountKey=?", "not base64"),
            ("AccountName=tea;AccountKey=a2V5;BlobEndpoint=here", "no address: here"),
        ] {
            let told = StorageAccount::parse(text).unwrap_err();
            assert!(told.contains(reason), "{told}");
        }
    }
}
