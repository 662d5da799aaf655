//! Languages by file name: one table. What is in none of its rows is plain text.

/// What a file is for. Decides how much its words count, and what is said about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// Programs.
    Code,
    /// Text for people.
    Docs,
    /// Settings, build files, data.
    Data,
}

/// A language: how files of it are recognised.
#[derive(Debug)]
pub struct Language {
    /// Its name, lower case; what reports and the store say.
    pub name: &'static str,
    /// What its files are for.
    pub content: Content,
    /// File name extensions, lower case, without the dot.
    extensions: &'static [&'static str],
    /// Whole file names.
    names: &'static [&'static str],
}

const fn row(
    name: &'static str,
    content: Content,
    extensions: &'static [&'static str],
    names: &'static [&'static str],
) -> Language {
    Language {
        name,
        content,
        extensions,
        names,
    }
}

/// Every language, by name.
pub static LANGUAGES: &[Language] = &[
    row("assembly", Content::Code, &["s", "asm"], &[]),
    row(
        "bash",
        Content::Code,
        &["sh", "bash", "zsh", "ksh"],
        &["configure.ac", ".bashrc"],
    ),
    row("c", Content::Code, &["c", "h"], &[]),
    row("c#", Content::Code, &["cs"], &[]),
    row(
        "c++",
        Content::Code,
        &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "ipp"],
        &[],
    ),
    row("cmake", Content::Data, &["cmake"], &["CMakeLists.txt"]),
    row("css", Content::Code, &["css", "scss", "sass", "less"], &[]),
    row("dart", Content::Code, &["dart"], &[]),
    row(
        "docker",
        Content::Data,
        &["dockerfile"],
        &["Dockerfile", "Containerfile"],
    ),
    row("elixir", Content::Code, &["ex", "exs"], &[]),
    row("erlang", Content::Code, &["erl", "hrl"], &[]),
    row("go", Content::Code, &["go"], &[]),
    row("haskell", Content::Code, &["hs"], &[]),
    row(
        "html",
        Content::Code,
        &["html", "htm", "vue", "svelte"],
        &[],
    ),
    row(
        "ini",
        Content::Data,
        &["ini", "cfg", "conf", "properties", "editorconfig"],
        &[],
    ),
    row("java", Content::Code, &["java"], &[]),
    row(
        "javascript",
        Content::Code,
        &["js", "jsx", "mjs", "cjs"],
        &[],
    ),
    row(
        "json",
        Content::Data,
        &["json", "jsonl", "json5", "webmanifest", "geojson"],
        &[],
    ),
    row("julia", Content::Code, &["jl"], &[]),
    row("kotlin", Content::Code, &["kt", "kts"], &[]),
    row("lua", Content::Code, &["lua"], &[]),
    row(
        "make",
        Content::Data,
        &["mk", "am", "mak"],
        &["Makefile", "GNUmakefile", "makefile", "justfile"],
    ),
    row("markdown", Content::Docs, &["md", "markdown", "mdx"], &[]),
    row("nix", Content::Code, &["nix"], &[]),
    row("objective-c", Content::Code, &["m", "mm"], &[]),
    row("ocaml", Content::Code, &["ml", "mli"], &[]),
    row("perl", Content::Code, &["pl", "pm", "t"], &[]),
    row("php", Content::Code, &["php", "phtml"], &[]),
    row("powershell", Content::Code, &["ps1", "psm1"], &[]),
    row("protobuf", Content::Code, &["proto"], &[]),
    row("python", Content::Code, &["py", "pyi", "pyx"], &[]),
    row("r", Content::Code, &["r"], &[]),
    row("restructuredtext", Content::Docs, &["rst"], &[]),
    row(
        "ruby",
        Content::Code,
        &["rb", "rake", "gemspec"],
        &["Rakefile", "Gemfile"],
    ),
    row("rust", Content::Code, &["rs"], &[]),
    row("scala", Content::Code, &["scala", "sc"], &[]),
    row("sql", Content::Code, &["sql"], &[]),
    row("svg", Content::Data, &["svg"], &[]),
    row("swift", Content::Code, &["swift"], &[]),
    row("table", Content::Data, &["csv", "tsv"], &[]),
    row("terraform", Content::Code, &["tf"], &[]),
    row(
        "text",
        Content::Docs,
        &["txt", "adoc", "asciidoc", "org", "tex"],
        &["README", "LICENSE", "COPYING", "NOTICE", "AUTHORS"],
    ),
    row("toml", Content::Data, &["toml"], &[]),
    row("tsx", Content::Code, &["tsx"], &[]),
    row("typescript", Content::Code, &["ts", "mts", "cts"], &[]),
    row("xml", Content::Data, &["xml", "xsd", "xsl", "plist"], &[]),
    row("yaml", Content::Data, &["yaml", "yml"], &[]),
    row("zig", Content::Code, &["zig"], &[]),
];

/// What a file of no known language is taken for.
static PLAIN: Language = row("plain", Content::Data, &[], &[]);

impl Language {
    /// The language of a file, by its name alone.
    pub fn of_path(path: &str) -> &'static Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some(found) = LANGUAGES.iter().find(|row| row.names.contains(&name)) {
            return found;
        }
        let Some((_, extension)) = name.rsplit_once('.') else {
            return &PLAIN;
        };
        let extension = extension.to_ascii_lowercase();
        LANGUAGES
            .iter()
            .find(|row| row.extensions.contains(&extension.as_str()))
            .unwrap_or(&PLAIN)
    }

    /// The language of that name; plain text for a name that is in no row.
    pub fn named(name: &str) -> &'static Self {
        LANGUAGES
            .iter()
            .find(|row| row.name == name)
            .unwrap_or(&PLAIN)
    }

    /// Whether definitions of this language are known, in this build.
    pub fn has_symbols(&self) -> bool {
        #[cfg(feature = "lang-core")]
        {
            super::grammar::of(self.name).is_some()
        }
        #[cfg(not(feature = "lang-core"))]
        {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_no_extension_is_claimed_twice() {
        let names: Vec<_> = LANGUAGES.iter().map(|row| row.name).collect();
        assert!(names.is_sorted());
        let mut claims: Vec<_> = LANGUAGES
            .iter()
            .flat_map(|row| row.extensions.iter().chain(row.names))
            .collect();
        let all = claims.len();
        claims.sort_unstable();
        claims.dedup();
        assert_eq!(claims.len(), all);
    }

    #[test]
    fn files_are_known_by_name_then_by_extension() {
        let of = |path: &str| Language::of_path(path).name;
        assert_eq!(of("src/main.rs"), "rust");
        assert_eq!(of("a/b/Makefile"), "make");
        assert_eq!(of("CMakeLists.txt"), "cmake");
        assert_eq!(of("notes.txt"), "text");
        assert_eq!(of("LIB.PY"), "python");
        assert_eq!(of("bin/tool"), "plain");
        assert_eq!(of(".gitignore"), "plain");
        assert_eq!(Language::named("tsx").content, Content::Code);
    }

    #[cfg(feature = "code")]
    #[test]
    fn each_language_of_the_features_has_symbols() {
        for name in [
            "rust",
            "python",
            "javascript",
            "typescript",
            "tsx",
            "go",
            "java",
            "c",
            "c++",
            "ruby",
            "php",
            "bash",
            "lua",
        ] {
            assert!(Language::named(name).has_symbols(), "{name}");
        }
        assert!(!Language::named("markdown").has_symbols());
    }
}
