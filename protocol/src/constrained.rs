//! Values with limits. Each checks itself while it is decoded, so that a decoding error carries the
//! place of the fault.

use std::{collections::HashSet, fmt, hash::Hash, marker::PhantomData, ops::Deref, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor},
};

use crate::wire::IsEmpty;

/// A value outside of what the protocol allows. The text reads after the value's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidValue(String);

impl InvalidValue {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Decodes text and converts it, without keeping a copy.
pub(crate) fn from_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    convert: impl FnOnce(&str) -> Result<T, InvalidValue>,
) -> Result<T, D::Error> {
    struct TextVisitor<T, F>(&'static str, F, PhantomData<T>);

    impl<T, F: FnOnce(&str) -> Result<T, InvalidValue>> Visitor<'_> for TextVisitor<T, F> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            (self.1)(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_str(TextVisitor(expected, convert, PhantomData))
}

pub(crate) fn check_length(text: &str, min: usize, max: usize) -> Result<(), InvalidValue> {
    if text.contains('\0') {
        return Err(InvalidValue::new("must not hold a NUL character"));
    }
    // A text of at most `max` bytes has at most `max` characters: the common case needs no counting.
    if text.len() <= max && (min == 0 || text.len() >= min * 4) {
        return Ok(());
    }
    let length = text.chars().count();
    if length < min || length > max {
        return Err(InvalidValue::new(format!("must have {min} to {max} characters, not {length}")));
    }
    Ok(())
}

macro_rules! text_type {
    ($(#[$meta:meta])* $name:ident, $prepare:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name<const MIN: usize, const MAX: usize>(String);

        impl<const MIN: usize, const MAX: usize> $name<MIN, MAX> {
            /// Checks a text.
            ///
            /// # Errors
            /// When its length in Unicode scalar values is outside `MIN..=MAX`, or it holds NUL.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidValue> {
                let prepare: fn(&str) -> &str = $prepare;
                let text = prepare(text.as_ref());
                check_length(text, MIN, MAX)?;
                Ok(Self(text.to_owned()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text, given away.
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl<const MIN: usize, const MAX: usize> Deref for $name<MIN, MAX> {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl<const MIN: usize, const MAX: usize> fmt::Display for $name<MIN, MAX> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<const MIN: usize, const MAX: usize> FromStr for $name<MIN, MAX> {
            type Err = InvalidValue;

            fn from_str(text: &str) -> Result<Self, InvalidValue> {
                Self::new(text)
            }
        }

        impl<const MIN: usize, const MAX: usize> TryFrom<&str> for $name<MIN, MAX> {
            type Error = InvalidValue;

            fn try_from(text: &str) -> Result<Self, InvalidValue> {
                Self::new(text)
            }
        }

        impl<const MIN: usize, const MAX: usize> Serialize for $name<MIN, MAX> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for $name<MIN, MAX> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer, "text", |text| Self::new(text))
            }
        }

        #[cfg(feature = "codegen")]
        impl<const MIN: usize, const MAX: usize> schemars::JsonSchema for $name<MIN, MAX> {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                format!("{}{MIN}To{MAX}", stringify!($name)).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "minLength": MIN, "maxLength": MAX })
            }
        }
    };
}

text_type! {
    /// Text of `MIN..=MAX` Unicode scalar values without NUL, kept as given.
    Text, |text| text
}

text_type! {
    /// A name: trimmed first, then as [`Text`].
    Name, |text| text.trim()
}

/// Text that must not reach a log: a password or a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

#[cfg(feature = "codegen")]
crate::codegen_support::text_schema!(Secret);

/// What makes a creating command idempotent: 1–64 printable ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonce(String);

impl Nonce {
    /// Checks a nonce.
    ///
    /// # Errors
    /// When it is not 1–64 printable ASCII characters.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidValue> {
        let text = text.into();
        let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if !printable || text.is_empty() || text.len() > crate::limits::NONCE_LENGTH {
            return Err(InvalidValue::new("must be 1 to 64 printable ASCII characters"));
        }
        Ok(Self(text))
    }

    /// A fresh nonce.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().simple().to_string())
    }

    /// The nonce as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Nonce {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        Self::new(text)
    }
}

impl Serialize for Nonce {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Nonce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "a nonce", str::parse)
    }
}

#[cfg(feature = "codegen")]
crate::codegen_support::text_schema!(Nonce, "pattern": "^[ -~]{1,64}$");

/// An integer of `MIN..=MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Int<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> Int<MIN, MAX> {
    /// Checks an integer.
    ///
    /// # Errors
    /// When it is outside `MIN..=MAX`.
    pub fn new(value: i64) -> Result<Self, InvalidValue> {
        if (MIN..=MAX).contains(&value) {
            Ok(Self(value))
        } else {
            let upper = if MAX < i64::MAX { format!("to {MAX}") } else { "or more".to_owned() };
            Err(InvalidValue::new(format!("must be {MIN} {upper}")))
        }
    }

    /// The integer.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The integer as a size or duration; 0 when negative.
    pub fn unsigned(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }
}

impl<const MIN: i64, const MAX: i64> Serialize for Int<MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0)
    }
}

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Int<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).and_then(|value| Self::new(value).map_err(de::Error::custom))
    }
}

#[cfg(feature = "codegen")]
impl<const MIN: i64, const MAX: i64> schemars::JsonSchema for Int<MIN, MAX> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Int{MIN}To{MAX}").replace('-', "Minus").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({ "type": "integer", "minimum": MIN });
        // What a JavaScript number cannot hold is no limit worth telling.
        if MAX < 1 << 53 {
            schema.insert("maximum".to_owned(), MAX.into());
        }
        schema
    }
}

/// What must not stand twice in one array.
pub trait Distinct {
    /// The part that is compared.
    type Key: Eq + Hash;

    /// The part that is compared.
    fn key(&self) -> Self::Key;
}

/// Decodes at most `max` items, reading no further when there are more.
fn bounded_items<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    min: usize,
    max: usize,
) -> Result<Vec<T>, D::Error> {
    struct Items<T>(usize, usize, PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an array of {} to {} items", self.0, self.1)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let Self(min, max, _) = self;
            let mut items = Vec::new();
            while let Some(item) = seq.next_element()? {
                if items.len() == max {
                    return Err(de::Error::custom(format!("must have {min} to {max} items")));
                }
                items.push(item);
            }
            if items.len() < min {
                return Err(de::Error::custom(format!("must have {min} to {max} items")));
            }
            Ok(items)
        }
    }

    deserializer.deserialize_seq(Items(min, max, PhantomData))
}

macro_rules! array_type {
    ($(#[$meta:meta])* $name:ident, $($bound:ident)?, $check:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name<T, const MIN: usize, const MAX: usize>(Vec<T>);

        impl<T $(: $bound)?, const MIN: usize, const MAX: usize> $name<T, MIN, MAX> {
            /// Checks an array.
            ///
            /// # Errors
            /// When its length is outside `MIN..=MAX`, or an item stands twice where items are distinct.
            pub fn new(items: Vec<T>) -> Result<Self, InvalidValue> {
                if !(MIN..=MAX).contains(&items.len()) {
                    return Err(InvalidValue::new(format!("must have {MIN} to {MAX} items")));
                }
                Self::distinct(items)
            }

            fn distinct(items: Vec<T>) -> Result<Self, InvalidValue> {
                let check: fn(&[T]) -> bool = $check;
                if check(&items) {
                    Ok(Self(items))
                } else {
                    Err(InvalidValue::new("must not name one thing twice"))
                }
            }

            /// The items, given away.
            pub fn into_vec(self) -> Vec<T> {
                self.0
            }
        }

        impl<T, const MIN: usize, const MAX: usize> Deref for $name<T, MIN, MAX> {
            type Target = [T];

            fn deref(&self) -> &[T] {
                &self.0
            }
        }

        impl<T: Serialize, const MIN: usize, const MAX: usize> Serialize for $name<T, MIN, MAX> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl<'de, T: Deserialize<'de> $(+ $bound)?, const MIN: usize, const MAX: usize> Deserialize<'de>
            for $name<T, MIN, MAX>
        {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let items = bounded_items(deserializer, MIN, MAX)?;
                Self::distinct(items).map_err(de::Error::custom)
            }
        }

        #[cfg(feature = "codegen")]
        impl<T: schemars::JsonSchema, const MIN: usize, const MAX: usize> schemars::JsonSchema for $name<T, MIN, MAX> {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                format!("{}{MIN}To{MAX}Of{}", stringify!($name), T::schema_name()).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let items = generator.subschema_for::<T>();
                schemars::json_schema!({ "type": "array", "items": items, "minItems": MIN, "maxItems": MAX })
            }
        }
    };
}

fn all_distinct<T: Distinct>(items: &[T]) -> bool {
    let mut seen = HashSet::with_capacity(items.len());
    items.iter().all(|item| seen.insert(item.key()))
}

array_type! {
    /// `MIN..=MAX` distinct items.
    Set, Distinct, all_distinct
}

array_type! {
    /// `MIN..=MAX` items that may repeat.
    List, , |_| true
}

impl<const MIN: usize, const MAX: usize> IsEmpty for Text<MIN, MAX> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
