//! Where a request comes from, and how the browser reached us: seen through trusted proxies only.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, header, request::Parts},
};

use crate::config::Config;

/// The peer of the connection itself.
pub(super) fn peer(parts: &Parts) -> IpAddr {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::from(Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip().to_canonical())
}

/// The client's address: the last one that no trusted proxy has.
pub(super) fn client(config: &Config, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let mut address = peer;
    let hops = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<&str> = hops.flat_map(|value| value.split(',')).map(str::trim).collect();
    for hop in hops.iter().rev() {
        if !is_trusted(config, address) {
            break;
        }
        // A hop that is not an address was not written by a trusted proxy.
        let Some(next) = parse_hop(hop) else { break };
        address = next.to_canonical();
    }
    address
}

fn parse_hop(hop: &str) -> Option<IpAddr> {
    hop.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

fn is_trusted(config: &Config, address: IpAddr) -> bool {
    config.trusted_proxies.iter().any(|network| network.contains(&address))
}

/// Whether the browser speaks https, to us or to a proxy before us.
pub(super) fn is_https(config: &Config, peer: IpAddr, headers: &HeaderMap) -> bool {
    if is_trusted(config, peer)
        && let Some(scheme) = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok())
    {
        return scheme.rsplit(',').next().is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"));
    }
    config.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
}

/// Whether an `Origin` is the server's own or on the list of those allowed.
pub(super) fn is_allowed_origin(config: &Config, peer: IpAddr, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()) else { return false };
    let origin = origin.to_ascii_lowercase();
    if config.public_url.as_ref() == Some(&origin) || config.allowed_origins.contains(&origin) {
        return true;
    }
    let scheme = if is_https(config, peer, headers) { "https" } else { "http" };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    !host.is_empty() && origin == format!("{scheme}://{}", host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;
    use crate::config::{Flag, Settings};

    fn config(trusted: &str) -> Config {
        let flag =
            |name: &str, value: &str| Flag { flag: String::new(), name: name.to_owned(), value: value.to_owned() };
        let flags = [flag("trusted_proxies", trusted), flag("allowed_origins", "https://app.example")];
        Config::new(&Settings::load(None, &flags, []).unwrap()).unwrap()
    }

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn nobody_but_a_trusted_proxy_says_where_a_request_comes_from() {
        let forged = headers(&[("x-forwarded-for", "1.2.3.4"), ("x-forwarded-proto", "https")]);
        let config = config("10.0.0.0/8");
        assert_eq!(client(&config, ip("9.9.9.9"), &forged), ip("9.9.9.9"));
        assert!(!is_https(&config, ip("9.9.9.9"), &forged));
        assert_eq!(client(&config, ip("10.0.0.1"), &forged), ip("1.2.3.4"));
        assert!(is_https(&config, ip("10.0.0.1"), &forged));
    }

    #[test]
    fn what_stands_before_the_first_foreign_hop_is_not_believed() {
        let config = config("10.0.0.0/8");
        let chain = headers(&[("x-forwarded-for", "6.6.6.6, 1.2.3.4, 10.0.0.2")]);
        assert_eq!(client(&config, ip("10.0.0.1"), &chain), ip("1.2.3.4"));
        let junk = headers(&[("x-forwarded-for", "unknown, 10.0.0.2")]);
        assert_eq!(client(&config, ip("10.0.0.1"), &junk), ip("10.0.0.2"));
        let with_port = headers(&[("x-forwarded-for", "1.2.3.4:5678")]);
        assert_eq!(client(&config, ip("10.0.0.1"), &with_port), ip("1.2.3.4"));
    }

    #[test]
    fn an_origin_is_the_servers_own_or_on_the_list() {
        let config = config("10.0.0.0/8");
        let allowed =
            |given: &[(&'static str, &'static str)], peer: &str| is_allowed_origin(&config, ip(peer), &headers(given));
        assert!(allowed(&[("host", "chat.example:8080"), ("origin", "http://chat.example:8080")], "9.9.9.9"));
        assert!(allowed(&[("host", "chat.example"), ("origin", "https://app.example")], "9.9.9.9"));
        assert!(!allowed(&[("host", "chat.example"), ("origin", "https://evil.example")], "9.9.9.9"));
        assert!(!allowed(&[("host", "chat.example"), ("origin", "https://chat.example")], "9.9.9.9"));
        let behind_tls = [("host", "chat.example"), ("origin", "https://chat.example"), ("x-forwarded-proto", "https")];
        assert!(allowed(&behind_tls, "10.0.0.1"));
        assert!(!allowed(&behind_tls, "9.9.9.9"));
        assert!(!allowed(&[("host", "chat.example")], "9.9.9.9"));
        assert!(!allowed(&[("host", "chat.example"), ("origin", "null")], "9.9.9.9"));
    }
}
