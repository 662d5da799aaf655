//! Console sessions as people see them: tests/cmd holds commands with what they print.
//! `TRYCMD=overwrite cargo test cli_consoles` writes the answers anew.

#[test]
fn consoles_say_what_they_said() {
    trycmd::TestCases::new()
        .register_bin(
            "llmwiki",
            std::path::Path::new(env!("CARGO_BIN_EXE_llmwiki")),
        )
        .env("LLMWIKI_NOW", "2026-02-03T04:05:06.789Z")
        .env("NO_COLOR", "1")
        .case("tests/cmd/*.trycmd");
}
