import BellhopCore

/// When a fault occurs: for which requests, after how many of them, and how often.
public struct FaultRule: Sendable, Hashable {
    public var fault: Fault
    /// In upper case; nil matches all.
    public var method: String?
    /// The start of the decoded path; nil matches all. Paths under `/simulator` never match.
    public var path: String?
    /// A text in the decoded query, so that the fault occurs for some lists only; nil matches all.
    public var query: String?
    /// How many matching requests succeed before the fault occurs.
    public var skip: Int
    /// For how many requests the fault occurs; nil for no limit.
    public var times: Int?
    /// From 0 to 1, decided for each matching request.
    public var probability: Double
    /// Whether the request takes effect before its answer is replaced, for faults that replace it.
    public var takesEffect: Bool

    func matches(_ method: String, _ path: String, _ query: String) -> Bool {
        (self.method == nil || self.method == method) && (self.path.map(path.hasPrefix) ?? true)
            && (self.query.map(PercentEncoding.decode(query, plusIsSpace: true).contains) ?? true)
    }

    public init(
        _ fault: Fault, method: String? = nil, path: String? = nil, query: String? = nil, skip: Int = 0, times: Int? = 1,
        probability: Double = 1, takesEffect: Bool = false
    ) {
        self.fault = fault
        self.method = method
        self.path = path
        self.query = query
        self.skip = skip
        self.times = times
        self.probability = probability
        self.takesEffect = takesEffect
    }
}
