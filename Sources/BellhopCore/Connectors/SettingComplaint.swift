/// What is wrong inside of a setting that its type cannot say, and where in it.
public struct SettingComplaint: Error, Sendable, Hashable {
    public enum Step: Sendable, Hashable {
        case key(String)
        case index(Int)
    }

    public var code: String
    /// Without a stop, as a diagnostic's.
    public var message: String
    public var help: String?
    /// From the mapping of settings down to the value.
    public var path: [Step]
    /// True when the last key of the path is at fault, not its value.
    public var isAboutKey: Bool
    /// The part of a text that is at fault, in UTF-8 bytes; nil for all of it.
    public var range: Range<Int>?

    public init(
        code: String, _ message: String, at path: [Step], isAboutKey: Bool = false, range: Range<Int>? = nil, help: String? = nil
    ) {
        self.code = code
        self.message = message
        self.help = help
        self.path = path
        self.isAboutKey = isAboutKey
        self.range = range
    }
}

/// Everything that is wrong inside of settings; never empty.
public struct SettingComplaints: Error, Sendable, Hashable {
    public var all: [SettingComplaint]

    public init(_ all: [SettingComplaint]) { self.all = all }
}
