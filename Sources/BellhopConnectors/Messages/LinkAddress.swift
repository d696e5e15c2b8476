/// An address that a receiver may show as a link.
struct LinkAddress: Sendable, Hashable {
    let text: String

    /// Nil for anything but http and https addresses, and for one with a user before its host, which imitates another host.
    /// Encodes characters that are not allowed in an address, so that the text cannot break out of markup.
    init?(_ text: String, limit: Int = .max) {
        guard let address = try? HTTPAddress(text), address.userInfo == nil else { return nil }
        self.text = PercentEncoding.encode(text, keeping: "-._~:/?#[]@!$&'()*+,;=%")
        if self.text.utf8.count > limit { return nil }
    }
}
