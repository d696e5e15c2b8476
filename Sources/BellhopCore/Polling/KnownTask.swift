/// The facts about a task that are kept between polls: enough to see whether it has changed.
public struct KnownTask: Sendable, Hashable {
    // In this order a task takes 56 bytes.
    /// The task's identity in its source.
    public let key: TaskKey
    private var refreshedSecond: UInt32
    /// The fingerprint of the task's bytes in the last listing that had it.
    public var listed: Fingerprint
    /// The fingerprint of its details when last read; ``Fingerprint/zero`` if they never were.
    public var content: Fingerprint

    public init(key: TaskKey, listed: Fingerprint, content: Fingerprint = .zero, refreshed: Timestamp? = nil) {
        self.key = key
        self.listed = listed
        self.content = content
        refreshedSecond = Self.second(of: refreshed)
    }

    /// When the details were last read, to the second, between 1970 and 2106; nil if never.
    public var refreshed: Timestamp? {
        get { refreshedSecond == 0 ? nil : Timestamp(seconds: Int64(refreshedSecond)) }
        set { refreshedSecond = Self.second(of: newValue) }
    }

    /// 0 means never, so the first second also represents the one before.
    private static func second(of time: Timestamp?) -> UInt32 {
        time.map { UInt32(min(max($0.seconds, 1), Int64(UInt32.max))) } ?? 0
    }
}
