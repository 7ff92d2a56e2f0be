//! Names that people give to factors, features and experiments, as names of files on every system.

use crate::language::Message;
use crate::message;

/// Bytes of a name at the most: with what is added to it, a file system takes 255.
const LONGEST: usize = 200;
/// Names that Windows keeps for devices, whatever their extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Reason why a name cannot be a file name, in any folder; none if it can.
pub fn no_file_name(name: &str) -> Option<Message> {
    let bad = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
    let lower = name.to_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    let numbered =
        |device: &str| stem.strip_prefix(device).is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit());
    if name.is_empty() {
        Some(message!("名称为空", "it is empty"))
    } else if name.starts_with('.') || name.contains(bad) {
        Some(message!(
            "它以点开头，或含有 / \\ : * ? \" < > | 或控制字符",
            "it begins with a dot or has one of / \\ : * ? \" < > | or a control character"
        ))
    } else if name.len() > LONGEST {
        Some(message!(
            "它有 {} 字节，而文件名最多 {LONGEST} 字节",
            "it has {} bytes, and names of files at most {LONGEST}",
            name.len()
        ))
    } else if DEVICES.contains(&stem) || numbered("com") || numbered("lpt") {
        Some(message!("Windows 把它留给设备", "Windows keeps it for a device"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_or_nowhere_are_told_apart_from_names() {
        for name in ["tone", "情绪因子-30d", "a.b", "console", "com10", &"长".repeat(66)] {
            assert_eq!(no_file_name(name), None, "{name}");
        }
        let long = "长".repeat(67);
        for name in ["", ".", "..", "../x", "/etc/x", "a/b", "a\\b", "C:x", "a\0", "a\n", "CON", "nul.x", "Com1", &long]
        {
            assert!(no_file_name(name).is_some(), "{name:?}");
        }
    }
}
