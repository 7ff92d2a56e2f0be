//! The manual page: the help of the program and of all its commands, in roff.

use std::io;

use anyhow::{Context, Result};
use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::Roff;

use crate::cli::help;

use inkstone_base::language::{Language, Word};

/// The manual page of the program, with a section for each command.
pub(super) fn page() -> Result<String> {
    let mut program =
        help::command(Language::of_messages()).disable_help_subcommand(true).subcommand_value_name("command");
    program.build();
    let mut page = Vec::new();
    write_program(&program, &mut page).context(Word("无法写出手册页", "cannot write the manual page"))?;
    write_commands(&program, &mut page).context(Word("无法写出手册页", "cannot write the manual page"))?;
    // Each piece begins with the definition of the apostrophe, which is needed once.
    let page = String::from_utf8(page).context(Word("手册页不是 UTF-8", "the manual page is not UTF-8"))?;
    let definition = Roff::new().render();
    Ok(format!("{definition}{}", page.replace(&definition, "")))
}

fn write_program(program: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    // An empty date must be quoted, or man takes the version for the date.
    let man = Man::new(program.clone()).date("\"\"").manual("Inkstone");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)
}

/// Writes a section for each command below `parent`, without the flags that it takes from `parent`.
fn write_commands(parent: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    for command in parent.get_subcommands() {
        let hide_inherited = |arg: Arg| {
            let inherited = parent.get_arguments().any(|above| above.is_global_set() && above.get_id() == arg.get_id());
            let hidden = arg.is_hide_set() || inherited || arg.get_id() == "help";
            arg.hide(hidden)
        };
        let man = Man::new(command.clone().mut_args(hide_inherited).subcommand_value_name("command"));
        let mut section = Vec::new();
        man.render_description_section(&mut section)?;
        man.render_synopsis_section(&mut section)?;
        man.render_options_section(&mut section)?;
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
        let section = String::from_utf8_lossy(&section)
            .replace("\n.SH SYNOPSIS\n", "\n.PP\n")
            .replace("\n.SH OPTIONS\n", "\n")
            .replace("\n.SH ", "\n.SS ")
            .replace("\n.SS DESCRIPTION\n", &format!("\n.SH \"{name}\"\n"));
        page.extend(section.bytes());
        write_commands(command, page)?;
    }
    Ok(())
}
