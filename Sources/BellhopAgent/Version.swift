/// Which Bellhop this is.
public enum BellhopVersion {
    public static let text = "0.1.0"
}
