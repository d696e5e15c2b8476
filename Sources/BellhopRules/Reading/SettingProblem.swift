/// Why a text is invalid for a setting.
struct SettingProblem: Error, Hashable {
    var code: String
    var message: String
    var help: String?
    /// The invalid part of the text, in UTF-8 bytes; nil for all of it.
    var range: Range<Int>?

    init(_ message: String, code: String = "wrong-value", help: String? = nil, range: Range<Int>? = nil) {
        self.code = code
        self.message = message
        self.help = help
        self.range = range
    }
}
