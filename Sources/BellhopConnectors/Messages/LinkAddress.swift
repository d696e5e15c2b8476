/// An address that a receiver may show as a link.
struct LinkAddress: Sendable, Hashable {
    let text: String

    /// Nil for all but http and https addresses; one with a user before its host is none either, because it pretends to be another
    /// host. Characters that have no place in an address are encoded, so that the text can end no markup early.
    init?(_ text: String, limit: Int = .max) {
        guard let address = try? HTTPAddress(text), address.userInfo == nil else { return nil }
        self.text = PercentEncoding.encode(text, keeping: "-._~:/?#[]@!$&'()*+,;=%")
        if self.text.utf8.count > limit { return nil }
    }
}
