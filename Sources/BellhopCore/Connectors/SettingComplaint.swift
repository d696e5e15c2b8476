/// An error in a setting that a check of its type cannot find, with its place.
public struct SettingComplaint: Error, Sendable, Hashable {
    public typealias Step = JSON.Path.Step

    public var code: String
    /// Without a full stop, like a diagnostic's.
    public var message: String
    public var help: String?
    /// From the mapping of settings down to the value.
    public var path: [Step]
    /// True if the last key of the path is at fault, not its value.
    public var isAboutKey: Bool
    /// The faulty part of a text, in UTF-8 bytes; nil for all of it.
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

/// All errors in some settings; never empty.
public struct SettingComplaints: Error, Sendable, Hashable {
    public var all: [SettingComplaint]

    public init(_ all: [SettingComplaint]) { self.all = all }
}
