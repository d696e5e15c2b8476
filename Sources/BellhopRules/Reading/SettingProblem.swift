/// Why a text is not what a setting wants.
struct SettingProblem: Error, Hashable {
    var code: String
    var message: String
    var help: String?
    /// The part of the text that is at fault, in UTF-8 bytes; nil for all of it.
    var range: Range<Int>?

    init(_ message: String, code: String = "wrong-value", help: String? = nil, range: Range<Int>? = nil) {
        self.code = code
        self.message = message
        self.help = help
        self.range = range
    }
}
