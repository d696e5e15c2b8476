/// A slip that may explain a fault: what it is, and the lines as they should read.
struct Slip {
    let code: YAMLError.Code
    let message: String
    let help: String
    let range: SourceRange

    /// The lines that `mended` replaces.
    let lines: ClosedRange<Int>
    let mended: String

    /// The fault told as this slip.
    func told(_ error: YAMLError) -> YAMLError {
        YAMLError(code, message, at: range, help: help, mended: mended, note: error.note)
    }
}
