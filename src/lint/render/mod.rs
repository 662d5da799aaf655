//! Reports as text, JSON lines, SARIF and GitHub annotations. Pure functions of a report.
