/// How many more bytes rendering may produce.
///
/// A class, because all parts of a step share it; used by one thread.
final class RenderRoom {
    private let limit: Int
    private var left: Int

    init(_ limit: Int) {
        self.limit = limit
        left = limit
    }

    /// No limit, for text that is shown and not stored.
    static var unlimited: RenderRoom { RenderRoom(.max) }

    /// How many bytes were taken.
    var used: Int { limit - left }

    var isLeft: Bool { left >= 0 }

    /// Takes this many bytes; false if fewer are left.
    @discardableResult
    func take(_ bytes: Int) -> Bool {
        if left >= 0 { left -= bytes }
        return left >= 0
    }

    /// Takes the bytes of a text.
    func taking(_ text: String) -> String {
        take(text.utf8.count)
        return text
    }

    func check() throws(RenderFailure) {
        if isLeft { return }
        let size = limit % 1000 == 0 ? "\(limit / 1000) KB" : limit % 1024 == 0 ? "\(limit >> 10) KiB" : "\(limit) bytes"
        throw RenderFailure(
            "it would send more than \(size), the limit of `max_delivery` in bellhop.yaml; send less, or raise the limit"
        )
    }
}
