/// The cookies of a request (RFC 6265, section 5.4).
public enum CookieHeader {
    /// The names and values in a `Cookie` field, in order; parts without `=` are left out.
    public static func pairs(_ field: String) -> [(name: Substring, value: Substring)] {
        field.split(separator: ";").compactMap { part in
            let halves = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return halves.count == 2 ? (halves[0], halves[1]) : nil
        }
    }
}
