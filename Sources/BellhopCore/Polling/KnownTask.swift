/// What is remembered of one task between polls: enough to tell that it is the same as before.
public struct KnownTask: Sendable, Hashable {
    // In this order a task takes 56 bytes.
    /// The task's identity in its source.
    public let key: TaskKey
    private var refreshedSecond: UInt32
    /// Of the task's bytes in the last listing that had it.
    public var listed: Fingerprint
    /// Of what its details said when they were last read; ``Fingerprint/zero`` when they never were.
    public var content: Fingerprint

    public init(key: TaskKey, listed: Fingerprint, content: Fingerprint = .zero, refreshed: Timestamp? = nil) {
        self.key = key
        self.listed = listed
        self.content = content
        refreshedSecond = Self.second(of: refreshed)
    }

    /// When the details were last read, to the second, between 1970 and 2106; nil when they never were.
    public var refreshed: Timestamp? {
        get { refreshedSecond == 0 ? nil : Timestamp(seconds: Int64(refreshedSecond)) }
        set { refreshedSecond = Self.second(of: newValue) }
    }

    /// 0 stands for never, so the first second there is stands for the one before it as well.
    private static func second(of time: Timestamp?) -> UInt32 {
        time.map { UInt32(min(max($0.seconds, 1), Int64(UInt32.max))) } ?? 0
    }
}
