//! A place that is filled below.
