/// A common mistake that may explain an error, and the corrected lines.
struct Slip {
    let code: YAMLError.Code
    let message: String
    let help: String
    let range: SourceRange

    /// The lines that `mended` replaces.
    let lines: ClosedRange<Int>
    let mended: String

    /// The error, described as this mistake.
    func described(in error: YAMLError) -> YAMLError {
        YAMLError(code, message, at: range, help: help, mended: mended, note: error.note)
    }
}
