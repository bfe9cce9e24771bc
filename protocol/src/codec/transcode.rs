//! Rewrites a MessagePack document as JSON text, so that both encodings of a command are read by one decoder.
//!
//! It works within what was received: a length that the bytes do not bear out costs nothing.

use serde::Serialize;

/// Containers within containers; deeper documents are refused.
const MAX_DEPTH: usize = 64;

/// What the protocol does not allow in MessagePack, or no MessagePack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused;

/// The parts of a command frame, `data` as JSON text.
pub(super) struct Parts {
    pub(super) id: Option<u64>,
    pub(super) op: Option<String>,
    pub(super) data: Option<String>,
}

/// Reads a command frame: none when the document is no map.
pub(super) fn command(bytes: &[u8]) -> Result<Option<Parts>, Refused> {
    let mut input = Input(bytes);
    let Token::Map(length) = input.token()? else {
        // It may yet be no MessagePack at all, which is the same to the client.
        return Ok(None);
    };
    let mut parts = Parts { id: None, op: None, data: None };
    let (mut has_id, mut has_op, mut has_data) = (false, false, false);
    for _ in 0..length {
        let Token::Text(key) = input.token()? else { return Err(Refused) };
        match key {
            "id" if !std::mem::replace(&mut has_id, true) => match input.token()? {
                Token::Unsigned(id) => parts.id = Some(id),
                Token::Signed(id) => parts.id = u64::try_from(id).ok(),
                other => input.skip(other)?,
            },
            "op" if !std::mem::replace(&mut has_op, true) => match input.token()? {
                Token::Text(op) => parts.op = Some(op.to_owned()),
                other => input.skip(other)?,
            },
            "data" if !std::mem::replace(&mut has_data, true) => {
                let mut json = Vec::with_capacity(input.0.len() + 64);
                let token = input.token()?;
                input.write(token, 1, &mut json)?;
                parts.data = Some(String::from_utf8(json).map_err(|_| Refused)?);
            }
            // A key that stands twice leaves open what is meant.
            "id" | "op" | "data" => return Ok(None),
            _ => {
                let token = input.token()?;
                input.skip(token)?;
            }
        }
    }
    if input.0.is_empty() { Ok(Some(parts)) } else { Err(Refused) }
}

#[derive(Clone, Copy)]
enum Token<'a> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(&'a str),
    Array(usize),
    Map(usize),
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Refused> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Refused)?;
        self.0 = rest;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        self.take(N)?.try_into().map_err(|_| Refused)
    }

    fn text(&mut self, length: usize) -> Result<Token<'a>, Refused> {
        std::str::from_utf8(self.take(length)?).map(Token::Text).map_err(|_| Refused)
    }

    /// The next value's head; of texts the whole. Binaries and extensions are refused.
    fn token(&mut self) -> Result<Token<'a>, Refused> {
        let [marker] = self.bytes()?;
        Ok(match marker {
            0x00..=0x7f => Token::Unsigned(marker.into()),
            0x80..=0x8f => self.container(Token::Map, usize::from(marker & 0x0f), 2)?,
            0x90..=0x9f => self.container(Token::Array, usize::from(marker & 0x0f), 1)?,
            0xa0..=0xbf => self.text(usize::from(marker & 0x1f))?,
            0xc0 => Token::Null,
            0xc2 => Token::Bool(false),
            0xc3 => Token::Bool(true),
            0xca => Token::Float(f32::from_be_bytes(self.bytes()?).into()),
            0xcb => Token::Float(f64::from_be_bytes(self.bytes()?)),
            0xcc => Token::Unsigned(u8::from_be_bytes(self.bytes()?).into()),
            0xcd => Token::Unsigned(u16::from_be_bytes(self.bytes()?).into()),
            0xce => Token::Unsigned(u32::from_be_bytes(self.bytes()?).into()),
            0xcf => Token::Unsigned(u64::from_be_bytes(self.bytes()?)),
            0xd0 => Token::Signed(i8::from_be_bytes(self.bytes()?).into()),
            0xd1 => Token::Signed(i16::from_be_bytes(self.bytes()?).into()),
            0xd2 => Token::Signed(i32::from_be_bytes(self.bytes()?).into()),
            0xd3 => Token::Signed(i64::from_be_bytes(self.bytes()?)),
            0xd9 => {
                let length = u8::from_be_bytes(self.bytes()?);
                self.text(length.into())?
            }
            0xda => {
                let length = u16::from_be_bytes(self.bytes()?);
                self.text(length.into())?
            }
            0xdb => {
                let length = self.length32()?;
                self.text(length)?
            }
            0xdc => {
                let length = u16::from_be_bytes(self.bytes()?);
                self.container(Token::Array, length.into(), 1)?
            }
            0xdd => {
                let length = self.length32()?;
                self.container(Token::Array, length, 1)?
            }
            0xde => {
                let length = u16::from_be_bytes(self.bytes()?);
                self.container(Token::Map, length.into(), 2)?
            }
            0xdf => {
                let length = self.length32()?;
                self.container(Token::Map, length, 2)?
            }
            0xe0..=0xff => Token::Signed(marker.cast_signed().into()),
            // Never used, binaries, extensions.
            0xc1 | 0xc4..=0xc9 | 0xd4..=0xd8 => return Err(Refused),
        })
    }

    fn length32(&mut self) -> Result<usize, Refused> {
        usize::try_from(u32::from_be_bytes(self.bytes()?)).map_err(|_| Refused)
    }

    /// Every item takes at least a byte: more items than bytes left is a lie.
    fn container(&self, make: fn(usize) -> Token<'a>, length: usize, bytes_each: usize) -> Result<Token<'a>, Refused> {
        if length > self.0.len() / bytes_each { Err(Refused) } else { Ok(make(length)) }
    }

    fn write(&mut self, token: Token<'a>, depth: usize, json: &mut Vec<u8>) -> Result<(), Refused> {
        match token {
            Token::Null => json.extend_from_slice(b"null"),
            Token::Bool(value) => scalar(&value, json),
            Token::Unsigned(value) => scalar(&value, json),
            Token::Signed(value) => scalar(&value, json),
            Token::Float(value) if value.is_finite() => scalar(&value, json),
            Token::Float(_) => return Err(Refused),
            Token::Text(text) => scalar(text, json),
            Token::Array(_) | Token::Map(_) if depth > MAX_DEPTH => return Err(Refused),
            Token::Array(length) => {
                json.push(b'[');
                for index in 0..length {
                    if index > 0 {
                        json.push(b',');
                    }
                    let item = self.token()?;
                    self.write(item, depth + 1, json)?;
                }
                json.push(b']');
            }
            Token::Map(length) => {
                json.push(b'{');
                for index in 0..length {
                    if index > 0 {
                        json.push(b',');
                    }
                    let Token::Text(key) = self.token()? else { return Err(Refused) };
                    scalar(key, json);
                    json.push(b':');
                    let value = self.token()?;
                    self.write(value, depth + 1, json)?;
                }
                json.push(b'}');
            }
        }
        Ok(())
    }

    fn skip(&mut self, token: Token<'a>) -> Result<(), Refused> {
        self.write(token, 1, &mut Vec::new())
    }
}

fn scalar<T: Serialize + ?Sized>(value: &T, json: &mut Vec<u8>) {
    serde_json::to_writer(json, value).expect("a scalar is written to memory");
}
