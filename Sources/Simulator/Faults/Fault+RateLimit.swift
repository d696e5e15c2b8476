extension Fault {
    /// How many requests are accepted in a period, as a chat accepts one message a second.
    public struct RateLimit: Sendable, Hashable {
        public var requests: Int
        /// The length of the period, by the simulation's clock. It slides: no period of this length has more requests than that.
        public var seconds: Int
        public var comeBack: ComeBack

        /// - Parameter comeBack: what a refusal says about when to come back; the length of the period if nil.
        public init(_ requests: Int = 1, in seconds: Int = 1, comeBack: ComeBack? = nil) {
            self.requests = requests
            self.seconds = seconds
            self.comeBack = comeBack ?? .seconds(seconds)
        }

        /// Records a request if it is accepted; false if it is one too many.
        func takes(at now: Int64, _ taken: inout [Int64]) -> Bool {
            taken.removeAll { $0 <= now - Int64(seconds) * CivilTime.second }
            guard taken.count < requests else { return false }
            taken.append(now)
            return true
        }
    }
}
