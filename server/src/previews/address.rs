//! Which addresses a preview may be fetched from: public ones, whatever a name or a redirect says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// What may be connected to.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddressPolicy {
    /// Networks that are not public and yet allowed.
    pub(crate) networks: Vec<IpNet>,
    /// Ports besides 80 and 443.
    pub(crate) ports: Vec<u16>,
}

impl AddressPolicy {
    /// Whether an address may be connected to.
    pub(crate) fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address) || self.networks.iter().any(|network| network.contains(&address))
    }

    /// Whether a link may be followed, as far as it shows; a name is looked at again when it is resolved.
    pub(crate) fn allows_url(&self, url: &Url) -> bool {
        let Some(port) = url.port_or_known_default() else { return false };
        let is_port = matches!(port, 80 | 443) || self.ports.contains(&port);
        let is_plain =
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
        let is_host = match url.host() {
            Some(Host::Ipv4(address)) => self.allows(address.into()),
            Some(Host::Ipv6(address)) => self.allows(address.into()),
            Some(Host::Domain(_)) => true,
            None => false,
        };
        is_port && is_plain && is_host
    }
}

/// Whether an address is one of the open internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_reserved = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224.., ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_reserved
}

/// Global unicast, without what leads to IPv4 or is for documents.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let is_global = segments[0] & 0xe000 == 0x2000;
    let is_special = (segments[0] == 0x2001 && (segments[1] < 0x200 || segments[1] == 0xdb8))
        || segments[0] == 0x2002
        || segments[0] & 0xfff0 == 0x3ff0;
    is_global && !is_special
}

/// Resolves names to allowed addresses alone. What it answers is what is connected to: nothing is resolved twice.
#[derive(Debug, Clone)]
pub(crate) struct Resolver(pub(crate) AddressPolicy);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.0.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.is_empty() || !found.iter().all(|address| policy.allows(address.ip())) {
                return Err("the name stands for an address that is not public".into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bl_122_only_public_addresses_are_fetched_from() {
        let policy = AddressPolicy::default();
        for address in [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.9.9",
            "192.168.1.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2002:7f00:1::",
            "2001:0:1::1",
            "2001:db8::1",
        ] {
            assert!(!policy.allows(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1"] {
            assert!(policy.allows(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn bl_122_a_link_that_shows_a_private_place_is_not_followed() {
        let policy = AddressPolicy::default();
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://0/",
            "ftp://example.org/",
            "file:///etc/passwd",
            "http://example.org:22/",
            "http://a:b@example.org/",
        ] {
            assert!(!policy.allows_url(&Url::parse(url).unwrap()), "{url}");
        }
        assert!(policy.allows_url(&Url::parse("https://example.org/x").unwrap()));
        let policy = AddressPolicy { networks: vec!["127.0.0.1/32".parse().unwrap()], ports: vec![8080] };
        assert!(policy.allows_url(&Url::parse("http://127.0.0.1:8080/").unwrap()));
        assert!(!policy.allows_url(&Url::parse("http://127.0.0.2:8080/").unwrap()));
    }
}
