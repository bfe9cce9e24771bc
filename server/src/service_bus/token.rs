//! Shared access signatures: what the service takes instead of the key.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use url::form_urlencoded::byte_serialize;

use super::ConnectionString;

/// A token for the queue, good until a time in seconds since the epoch.
pub(super) fn sign(service: &ConnectionString, until: i64) -> String {
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let resource = encode(&service.audience());
    // The key is used as it is written, not as what its base64 says.
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(service.key.expose().as_bytes()).expect("a key of any length is one");
    mac.update(format!("{resource}\n{until}").as_bytes());
    let signature = encode(&STANDARD.encode(mac.finalize().into_bytes()));
    format!("SharedAccessSignature sr={resource}&sig={signature}&se={until}&skn={}", encode(&service.key_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_signed_as_microsoft_documents_it() {
        let text =
            "Endpoint=sb://tea.servicebus.windows.net/;SharedAccessKeyName=Root Key;SharedAccessKey=c2VjcmV0PQ==";
        let service = ConnectionString::parse(text, "wake-ups").unwrap();
        // Made with Python's hmac, urllib.parse.quote_plus and base64.
        let expected = "SharedAccessSignature sr=sb%3A%2F%2Ftea.servicebus.windows.net%2Fwake-ups&\
                        sig=6eqC%2FTJmh3z9duRDOo9uGruLoTYF%2BL%2F%2B6dRm4k%2FIcCY%3D&se=1772366400&skn=Root+Key";
        assert_eq!(sign(&service, 1_772_366_400), expected);
    }
}
