//! The views, one file each: what is read for it, and how it looks.

pub(super) mod ask;
pub(super) mod changes;
pub(super) mod files;
pub(super) mod graph;
pub(super) mod home;
pub(super) mod lint;
pub(super) mod page;
pub(super) mod pages;
pub(super) mod projects;
pub(super) mod search;
pub(super) mod status;

use crate::error::{Error, ErrorCode, Result};

use super::urls::{self, Lines};

/// Lines that were asked for by a URL.
fn lines(text: Option<&str>) -> Result<Option<Lines>> {
    text.map(|text| {
        urls::lines(text).ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidArgument,
                format!("{text:?} names no lines"),
            )
            .with_hint("L=10 names a line, L=10-20 lines")
        })
    })
    .transpose()
}

/// A number that was asked for by a URL.
fn number<T: std::str::FromStr>(name: &str, text: Option<&str>) -> Result<Option<T>> {
    text.map(|text| {
        text.parse().map_err(|_| {
            Error::new(
                ErrorCode::InvalidArgument,
                format!("{name}: {text:?} is no number"),
            )
        })
    })
    .transpose()
}
